/** `market-mirror keys`: who may read from `serve`, how much, and until when. */

import { Argument, Command } from 'commander';
import { readLocalConfig } from '../config.ts';
import { listJobs, scopesOf } from '../job-list.ts';
import { type Align, inColumns, type Paint, paintFor, relative } from '../output/text.ts';
import { printableJson } from '../printable.ts';
import {
  type Account,
  type Issued,
  type KeyRecord,
  type Keyring,
  openKeyring,
  statusOf,
} from '../serve/keys.ts';
import { type Limits, renderQuota, renderRate } from '../serve/limits.ts';
import type { Context } from './context.ts';
import { withExamples } from './help.ts';
import {
  type Action,
  actions,
  checkUse,
  type Given,
  readDuration,
  readLimits,
  readName,
  readNetworks,
  readScopes,
  withKeyOptions,
} from './keys/options.ts';

const DEFAULT_OVERLAP = '24h';

export function keysCommand(context: Context): Command {
  const command = new Command('keys')
    .addArgument(new Argument('<action>', 'what is to be done').choices(actions))
    .argument('[which]', 'revoke, rotate: the id of a key, or its name; limits: an account, all unless given')
    .action((action: Action, which: string | undefined, given: Given) => keys(action, which, given, context));
  return withExamples(
    withKeyOptions(command),
    [
      'a key for reports: every dataset, a thousand calls an hour',
      'keys create --name reports --quota 1000/1h',
    ],
    [
      'for one dataset, from one network, for three months',
      'keys create --name desk --scope news:read --allow 10.0.0.0/8 --expires 90d',
    ],
    ['when each was last used', 'keys list'],
    ['another in its place; the old one stays valid for a day', 'keys rotate reports --overlap 24h'],
    [
      'a quota that comes back call by call, ten a second',
      'keys limits reports --quota 5000/1h,refill --rate 10/1s+20',
    ],
    ['refused from now on', 'keys revoke desk'],
  );
}

async function keys(
  action: Action,
  which: string | undefined,
  given: Given,
  context: Context,
): Promise<void> {
  const { environment, clock, stdout, stderr } = context;
  checkUse(action, which, given);
  const act = await actionOf(action, which ?? '', given, clock.now());
  const keyring = openKeyring(readLocalConfig(environment).dir);
  try {
    const { json, text, notes = [] } = act(keyring, paintFor(stdout));
    stdout.write(given.json ? `${printableJson(json)}\n` : `${text}\n`);
    for (const note of notes) stderr.write(`${note}\n`);
  } finally {
    keyring.close();
  }
}

/** What an action did, for programs and for people; notes are for the latter beside either. */
type Told = { json: unknown; text: string; notes?: readonly string[] };

/** Reads all that was given first: nothing is done where any of it is wrong. */
async function actionOf(
  action: Action,
  which: string,
  given: Given,
  now: number,
): Promise<(keyring: Keyring, paint: Paint) => Told> {
  const limits = readLimits(given);
  const lifetimeMs = given.expires === undefined ? undefined : readDuration('--expires', given.expires, 1);
  const overlapMs = readDuration('--overlap', given.overlap ?? DEFAULT_OVERLAP, 0);
  switch (action) {
    case 'create': {
      const terms = {
        ...(await readTerms(given)),
        expiresAt: lifetimeMs === undefined ? null : now + lifetimeMs,
      };
      return (keyring) => issued(keyring.create(terms, limits, now), now);
    }
    case 'rotate':
      return (keyring) => {
        const { replaced, ...rotated } = keyring.rotate(which, overlapMs, lifetimeMs, now);
        const told = issued(rotated, now);
        const ends = `The key ${replaced.id} that it replaces stays valid until ${replaced.expiresAt}.`;
        return {
          ...told,
          json: { ...told.json, replaces: shown(replaced, now) },
          notes: [...told.notes, ends],
        };
      };
    case 'revoke':
      return (keyring) => {
        const record = keyring.revoke(which, now);
        return { json: shown(record, now), text: `${record.id} (${record.name}) is refused from now on` };
      };
    case 'list':
      return (keyring, paint) => listed(keyring.list(), now, paint);
    case 'limits':
      return (keyring, paint) => {
        if (!limits)
          return accounts(which === '' ? keyring.accounts() : [keyring.account(which)], which, paint);
        return accounts([keyring.setLimits(which, limits)], which, paint);
      };
  }
}

async function readTerms(given: Given) {
  const name = readName(given.name, '--name');
  return {
    name,
    account: given.account === undefined ? name : readName(given.account, '--account'),
    scopes: readScopes(given.scope, scopesOf(await listJobs())),
    addresses: readNetworks(given.allow),
  };
}

/** As programs see a key; never with the key itself. */
const shown = (record: KeyRecord, now: number) => ({ ...record, status: statusOf(record, now) });

const shownLimits = ({ quota, rate, concurrency }: Limits) => ({
  quota: quota && renderQuota(quota),
  rate: rate && renderRate(rate),
  concurrency,
});

function issued({ key, record, limits }: Issued, now: number) {
  const { id, ...others } = shown(record, now);
  return {
    json: { id, key, ...others, limits: shownLimits(limits) },
    text: key,
    notes: [
      `This is the key ${id}. It is shown this once: the database keeps its SHA-256 alone.`,
      `Give it only to those who are entitled to the data of this account: the responses of the API are private.`,
    ],
  };
}

const columns: Record<string, Align> = {
  id: 'left',
  name: 'left',
  account: 'left',
  status: 'left',
  'last used': 'left',
  expires: 'left',
  from: 'left',
  scopes: 'left',
};

function listed(records: readonly KeyRecord[], now: number, paint: Paint): Told {
  const json = records.map((record) => shown(record, now));
  if (json.length === 0) return { json, text: 'there is no key: market-mirror keys create makes one' };
  const rows = json.map(({ id, name, account, status, lastUsedAt, expiresAt, addresses, scopes }) => [
    id,
    name,
    account,
    paint(status === 'active' ? 'green' : 'red', status),
    lastUsedAt === null ? 'never' : relative(lastUsedAt, now),
    relative(expiresAt, now),
    addresses === null ? 'anywhere' : addresses.join(' '),
    scopes.length === 0 ? '–' : scopes.join(' '),
  ]);
  return { json, text: inColumns([heads(columns, paint), ...rows], Object.values(columns)) };
}

const limitColumns: Record<string, Align> = {
  account: 'left',
  quota: 'left',
  rate: 'left',
  concurrency: 'left',
};

/** @param which the one that was asked for; empty for all. */
function accounts(all: readonly Account[], which: string, paint: Paint): Told {
  const shownAccounts = all.map(({ account, limits }) => ({ account, ...shownLimits(limits) }));
  const json = which === '' ? shownAccounts : shownAccounts[0];
  if (shownAccounts.length === 0)
    return { json, text: 'there is no account: market-mirror keys create makes one with its first key' };
  const rows = shownAccounts.map(({ account, ...limits }) => [
    account,
    ...Object.values(limits).map((limit) => String(limit ?? 'none')),
  ]);
  return { json, text: inColumns([heads(limitColumns, paint), ...rows], Object.values(limitColumns)) };
}

const heads = (table: Record<string, Align>, paint: Paint) =>
  Object.keys(table).map((head) => paint('dim', head));
