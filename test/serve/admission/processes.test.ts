/** A process that serves, and others beside and after it. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { openAdmission, type Usage } from '../../../src/serve/access/admission.ts';
import { openKeyring } from '../../../src/serve/access/keyring.ts';
import { memoryFolder } from '../../helpers/folder.ts';
import { nodeOfSources, sourceAddress } from '../../helpers/sources.ts';
import { limitsOf } from '../support.ts';

const LIMIT = 100_000;

/** Asks for a call every few milliseconds, and says what came of it: when, and what is left or why not. */
const script = `
  const [admissionFile, clockFile, dir] = process.argv.slice(1);
  const { openAdmission } = await import(admissionFile);
  const { systemClock } = await import(clockFile);
  const admission = openAdmission(dir, systemClock, () => {});
  const ask = () => {
    const caller = admission.identify({ authorization: process.env.HEADER, address: '::1', scope: 'news:read' });
    const answer = 'status' in caller ? caller : admission.enter(caller);
    answer.leave?.();
    console.log(Date.now(), answer.status ?? 200, answer.remaining ?? -1);
  };
  setInterval(ask, 10);`;

type Line = { at: number; status: number; remaining: number };

function serve(dir: string, key: string) {
  const child = spawn(
    process.execPath,
    [
      ...[...nodeOfSources, '-e', script],
      ...[sourceAddress('serve/access/admission.ts'), sourceAddress('base/clock.ts'), dir],
    ],
    { env: { ...process.env, HEADER: `Bearer ${key}` }, stdio: ['ignore', 'pipe', 'inherit'] },
  );
  onTestFinished(() => void child.kill('SIGKILL'));
  const lines: Line[] = [];
  createInterface(child.stdout).on('line', (line) => {
    const [at = 0, status = 0, remaining = 0] = line.split(' ').map(Number);
    lines.push({ at, status, remaining });
  });
  return { child, lines };
}

function setup() {
  const dir = memoryFolder();
  const keyring = openKeyring(dir);
  onTestFinished(() => keyring.close());
  const terms = { name: 'desk', account: 'desk', scopes: ['news:read'], addresses: null, expiresAt: null };
  const { key, record } = keyring.create(terms, limitsOf(`${LIMIT}/1d`), systemClock.now());
  return { dir, keyring, key, id: record.id, ...serve(dir, key) };
}

const open = (dir: string) => openAdmission(dir, systemClock, () => undefined);

test('killed in the middle of its grants, it has forgotten a second of them at most', async () => {
  const { dir, keyring, child, lines } = setup();
  await expect.poll(() => (lines.at(-1)?.at ?? 0) - (lines[0]?.at ?? 0)).toBeGreaterThan(3_500);
  child.kill('SIGKILL');
  await once(child, 'close');
  const admission = open(dir);
  onTestFinished(() => admission.close());
  const counted = LIMIT - (admission.usage(keyring.account('desk')) as Usage).remaining;
  const forgotten = lines.slice(counted);
  const [first] = forgotten;
  // What the machine's other work may keep a timer waiting comes on top.
  if (first) expect((lines.at(-1)?.at ?? 0) - first.at).toBeLessThan(2_500);
  expect(lines.every(({ status }) => status === 200)).toBe(true);
  expect(counted).toBeGreaterThan(0);
});

test('a key that another process revokes is refused from the next call on, and new limits hold', async () => {
  const { keyring, id, lines } = setup();
  await expect.poll(() => lines.length).toBeGreaterThan(5);
  keyring.setLimits('desk', limitsOf('7/1d'));
  await expect.poll(() => lines.at(-1)?.status).toBe(429);
  keyring.setLimits('desk', limitsOf(null));
  await expect.poll(() => lines.at(-1)).toMatchObject({ status: 200, remaining: 1_000_000_000 });
  keyring.revoke(id, systemClock.now());
  await expect.poll(() => lines.at(-1)?.status).toBe(401);
});

test('one serves at a time: another is told which, and takes over when that one is gone', async () => {
  const { dir, child, lines } = setup();
  await expect.poll(() => lines.length).toBeGreaterThan(0);
  expect(() => open(dir)).toThrow(
    expect.objectContaining({
      kind: 'incomplete',
      message: `${dir}: process ${child.pid} serves from there already; end it first`,
    }),
  );
  child.kill('SIGKILL');
  await once(child, 'close');
  open(dir).close();
});
