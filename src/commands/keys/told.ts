/** What `keys` says of keys and accounts, to people and to programs. */

import { type Align, heads, inColumns, type Paint, relative } from '../../output/text.ts';
import {
  type Account,
  type Issued,
  type KeyRecord,
  PAGE_SCOPE,
  type Rotated,
  statusOf,
} from '../../serve/service/keys.ts';
import { type Limits, renderQuota, renderRate } from '../../serve/service/limits.ts';
import type { Link } from './page.ts';

/** For programs, for people, and beside either on stderr what people should know. */
export type Told = { json: unknown; text: string; notes?: readonly string[] };

/** As programs see a key; never with the key itself. */
const shown = (record: KeyRecord, now: number) => ({ ...record, status: statusOf(record, now) });

const shownLimits = ({ quota, rate, concurrency }: Limits) => ({
  quota: quota && renderQuota(quota),
  rate: rate && renderRate(rate),
  concurrency,
});

export const shownAccount = ({ account, limits }: Account) => ({ account, ...shownLimits(limits) });

export function tellIssued({ key, record, limits }: Issued, now: number) {
  const { id, ...others } = shown(record, now);
  return {
    json: { id, key, ...others, limits: shownLimits(limits) },
    text: key,
    notes: [
      `This is the key ${id}. It is shown this once: the database keeps its SHA-256 alone.`,
      'Give it only to those who are entitled to the data of this account: the responses of the API are private.',
      ...(record.scopes.includes(PAGE_SCOPE)
        ? [
            `With ${PAGE_SCOPE} it opens the page, which asks SQL of every dataset and of all calls that the mirror has made, whatever its other scopes are.`,
          ]
        : []),
    ],
  };
}

export function tellRotated({ replaced, ...issued }: Rotated, now: number): Told {
  const { json, text, notes } = tellIssued(issued, now);
  const ends = `The key ${replaced.id} that it replaces stays valid until ${replaced.expiresAt}.`;
  return { json: { ...json, replaces: shown(replaced, now) }, text, notes: [...notes, ends] };
}

export function tellRevoked(record: KeyRecord, now: number): Told {
  return { json: shown(record, now), text: `${record.id} (${record.name}) is refused from now on` };
}

export function tellLink(link: Link) {
  return {
    json: link,
    text: link.url,
    notes: [
      link.expiresAt === null
        ? 'The service runs with MIRROR_SERVE_PAGE=open: everybody on this machine sees its page.'
        : `It opens the page on this machine until ${link.expiresAt}. Whoever has it sees what the mirror holds: give it to nobody else.`,
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

export function tellKeys(records: readonly KeyRecord[], now: number, paint: Paint): Told {
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
  return { json, text: inColumns([heads(Object.keys(columns), paint), ...rows], Object.values(columns)) };
}

const limitColumns: Record<string, Align> = {
  account: 'left',
  quota: 'left',
  rate: 'left',
  concurrency: 'left',
};

export function tellAccounts(accounts: readonly Account[], paint: Paint): Told {
  const json = accounts.map(shownAccount);
  if (json.length === 0)
    return { json, text: 'there is no account: market-mirror keys create makes one with its first key' };
  const rows = json.map(({ account, ...limits }) => [
    account,
    ...Object.values(limits).map((limit) => String(limit ?? 'none')),
  ]);
  return {
    json,
    text: inColumns([heads(Object.keys(limitColumns), paint), ...rows], Object.values(limitColumns)),
  };
}
