/** A folder with keys, on a clock of its own, and the process that serves from there. */

import { onTestFinished } from 'vitest';
import type { Clock } from '../../src/base/clock.ts';
import type { Failure } from '../../src/base/errors.ts';
import {
  type Admission,
  openAdmission,
  type Permit,
  type Refusal,
} from '../../src/serve/access/admission.ts';
import { openServeDatabase } from '../../src/serve/access/database.ts';
import { type KeyTerms, openKeyring } from '../../src/serve/access/keyring.ts';
import { type Limits, parseQuota, parseRate } from '../../src/serve/access/limits.ts';
import { memoryFolder } from '../helpers/folder.ts';
import { virtualClock } from '../helpers/virtual-clock.ts';

export function setupKeys(dir = memoryFolder()) {
  const keyring = openKeyring(dir);
  onTestFinished(() => keyring.close());
  const clock = virtualClock();
  const create = (terms: Partial<KeyTerms> = {}, limits?: Partial<Limits>) => {
    const {
      name = 'desk',
      account = name,
      scopes = ['news:read'],
      addresses = null,
      expiresAt = null,
    } = terms;
    return keyring.create({ name, account, scopes, addresses, expiresAt }, limits, clock.now());
  };
  return { dir, keyring, clock, create };
}

/** As on the command line. */
export const limitsOf = (quota: string | null, rate?: string, concurrency?: number): Partial<Limits> => ({
  quota: quota === null ? null : parseQuota(quota),
  ...(rate !== undefined && { rate: parseRate(rate) }),
  ...(concurrency !== undefined && { concurrency }),
});

/** What is to be done after a while, for a test to do. */
export function collector() {
  const due: (() => void)[] = [];
  const after: Clock['after'] = (_, work) => {
    due.push(work);
    return () => undefined;
  };
  return { after, due };
}

/** The same, and the admission of a process that serves. Nothing is written behind by itself: `write` does it. */
export function setupAdmission(dir?: string) {
  const keys = setupKeys(dir);
  const told: (Failure | null)[] = [];
  const { after, due } = collector();
  const open = () => openAdmission(keys.dir, { ...keys.clock, after }, (trouble) => told.push(trouble));
  let admission = open();
  onTestFinished(() => admission.close());
  return {
    ...keys,
    told,
    /** What is due once a second. */
    write: () => {
      for (const work of due.splice(0)) work();
    },
    /** The process ends and another begins. */
    restart() {
      admission.close();
      due.length = 0;
      admission = open();
    },
    usage: () => admission.usage(keys.keyring.account('desk')),
    identify: (key: string, { address = '127.0.0.1', scope = 'news:read' as string | null } = {}) =>
      admission.identify({ authorization: `Bearer ${key}`, address, scope }),
    call: (key: string) => callOf(admission, key),
    admission: () => admission,
  };
}

function callOf(admission: Admission, key: string): Permit | Refusal {
  const caller = admission.identify({ authorization: `Bearer ${key}`, address: '127.0.0.1', scope: null });
  return 'status' in caller ? caller : admission.enter(caller);
}

/** The status of an answer, and of a success what is left. */
export const outcome = (answer: Permit | Refusal) =>
  'status' in answer ? answer.status : `${answer.remaining} left`;

/** Another process that is writing, and does not come to an end before it is told to. */
export function holdWriteLock(dir: string) {
  const connection = openServeDatabase(dir);
  connection.exec('BEGIN IMMEDIATE');
  return { connection, release: () => void connection.exec('ROLLBACK') };
}
