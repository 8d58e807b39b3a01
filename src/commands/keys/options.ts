/** What each action of `keys` takes, and what is written there, read and checked. */

import type { Command } from 'commander';
import { Failure, toError } from '../../errors.ts';
import { nearest } from '../../near.ts';
import { printable } from '../../printable.ts';
import { millisecondsOf } from '../../schedule.ts';
import { METRICS_SCOPE, PAGE_SCOPE, parseNetwork, resemblesKey } from '../../serve/service/keys.ts';
import { type Limits, parseConcurrency, parseQuota, parseRate } from '../../serve/service/limits.ts';

export const actions = ['create', 'list', 'revoke', 'rotate', 'limits', 'page'] as const;
export type Action = (typeof actions)[number];

/** As commander gives them. */
export type Given = {
  name?: string;
  account?: string;
  scope?: string[];
  expires?: string;
  allow?: string[];
  quota?: string;
  rate?: string;
  concurrency?: string;
  overlap?: string;
  json?: true;
};

const limitOptions = ['quota', 'rate', 'concurrency'] as const;

/** Which of the options belong to an action, and what it needs to be told of. */
const taken: Record<Action, { target: 'key' | 'account' | null; options: readonly (keyof Given)[] }> = {
  create: { target: null, options: ['name', 'account', 'scope', 'expires', 'allow', ...limitOptions] },
  list: { target: null, options: [] },
  revoke: { target: 'key', options: [] },
  rotate: { target: 'key', options: ['overlap', 'expires'] },
  limits: { target: 'account', options: limitOptions },
  page: { target: null, options: [] },
};

const again = (value: string, before: string[] = []) => [...before, value];

export function withKeyOptions(command: Command): Command {
  return command
    .optionsGroup('Options of create:')
    .option('--name <name>', 'what the key is for, as the list shows it')
    .option('--account <name>', 'whose limits it shares; one of its own name unless given')
    .option(
      '--scope <scope>',
      'what it opens, once for each; every dataset unless given; none: usage alone',
      again,
    )
    .option('--expires <duration>', 'until it expires, such as 90d; also of rotate')
    .option('--allow <network>', 'where alone it may be used, once for each: 192.0.2.7, 10.0.0.0/8', again)
    .optionsGroup('Options of create, for a new account, and of limits:')
    .option('--quota <calls/period>', 'such as 1000/1h, 1000/1h,sliding or 1000/1h,refill; none: no quota')
    .option('--rate <calls/period>', 'such as 10/1s, or 10/1s+20 with a burst; none: no limit')
    .option('--concurrency <calls>', 'calls at the same time; none: no limit')
    .optionsGroup('Options of rotate:')
    .option('--overlap <duration>', 'how long the old key stays valid; 24h unless given')
    .optionsGroup('Options:')
    .option('--json', 'print the answer as JSON');
}

/** @throws Failure `usage` for what the action does not take, and for what it lacks. */
export function checkUse(action: Action, target: string | undefined, given: Given): void {
  const { target: needs, options } = taken[action];
  for (const name of Object.keys(given) as (keyof Given)[])
    if (name !== 'json' && !options.includes(name)) throw usage(`keys ${action} takes no --${name}`);
  for (const text of [target, given.name, given.account])
    if (text !== undefined && resemblesKey(text))
      throw usage('a key is named by its id, which market-mirror keys list shows, and never typed itself');
  if (needs === null && target !== undefined) throw usage(`keys ${action} takes no '${printable(target)}'`);
  if (needs === 'key' && !target)
    throw usage(`keys ${action} needs the id of a key: market-mirror keys list shows them`);
  if (needs === 'account' && !target && options.some((name) => given[name] !== undefined))
    throw usage(`keys ${action} needs the account whose limits are to be changed`);
}

const usage = (message: string) => new Failure('usage', `${message}; see market-mirror keys --help`);

const LONGEST_NAME = 64;

/** @throws Failure `usage` for what cannot stand in a list. */
export function readName(text: string | undefined, option: '--name' | '--account'): string {
  if (text === undefined) throw usage('keys create needs --name, which tells what the key is for');
  const isPlain = text.trim() === text && text !== '' && printable(text) === text;
  if (!isPlain || text.length > LONGEST_NAME)
    throw usage(`${option} is a text of 1 to ${LONGEST_NAME} letters, without spaces around it`);
  return text;
}

/** @param datasets the scopes of all datasets. */
export function readScopes(given: readonly string[] | undefined, datasets: readonly string[]): string[] {
  if (!given) return [...datasets];
  const known = [...datasets, METRICS_SCOPE, PAGE_SCOPE];
  if (given.length === 1 && given[0] === NONE) return [];
  for (const scope of given)
    if (!known.includes(scope))
      throw usage(
        `there is no scope '${printable(scope)}'${nearest(scope, known)}; known are ${known.join(', ')}, or ${NONE} alone`,
      );
  return known.filter((scope) => given.includes(scope));
}

const NONE = 'none';

export function readNetworks(given: readonly string[] | undefined): string[] | null {
  return given ? [...new Set(given.map((text) => attempt('--allow', text, parseNetwork)))] : null;
}

const LONGEST_MS = 100 * 365 * 24 * 3_600_000;

/** Milliseconds. @param least of them. */
export function readDuration(option: '--expires' | '--overlap', text: string, least: number): number {
  const length = millisecondsOf(text);
  if (length === undefined || length < least || length > LONGEST_MS)
    throw usage(`${option} is a duration such as 30m, 24h or 90d, not '${printable(text)}'`);
  return Math.round(length);
}

/** Undefined where none was given. */
export function readLimits({ quota, rate, concurrency }: Given): Partial<Limits> | undefined {
  const limits = {
    ...(quota !== undefined && { quota: orNone('--quota', quota, parseQuota) }),
    ...(rate !== undefined && { rate: orNone('--rate', rate, parseRate) }),
    ...(concurrency !== undefined && { concurrency: orNone('--concurrency', concurrency, parseConcurrency) }),
  };
  return Object.keys(limits).length > 0 ? limits : undefined;
}

function orNone<Value>(option: string, text: string, read: (text: string) => Value): Value | null {
  return text === NONE ? null : attempt(option, text, read);
}

function attempt<Value>(option: string, text: string, read: (text: string) => Value): Value {
  try {
    return read(text);
  } catch (thrown) {
    throw usage(`${option} is ${toError(thrown).message}, not '${printable(text)}'`);
  }
}
