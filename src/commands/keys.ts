/** `market-mirror keys`: who may read from `serve`, how much, and until when; and links to its page. */

import { existsSync } from 'node:fs';
import { Argument, Command } from 'commander';
import { DAY_MS, isoTime } from '../base/clock.ts';
import { Failure, toError } from '../base/errors.ts';
import { nearest } from '../base/near.ts';
import { isLoopback, parseNetwork } from '../base/networks.ts';
import { printable, printableJson } from '../base/printable.ts';
import { millisecondsOf } from '../base/time.ts';
import { readLocalConfig } from '../config.ts';
import { listJobs, scopesOf } from '../job/list.ts';
import { relative } from '../output/numbers.ts';
import { type Paint, paintFor, renderTable, type TableColumn } from '../output/text.ts';
import { readService } from '../reading/status.ts';
import { serveFile } from '../serve/access/database.ts';
import { type Issued, type Keyring, openKeyring, type Rotated } from '../serve/access/keyring.ts';
import {
  type Account,
  type KeyRecord,
  METRICS_SCOPE,
  PAGE_SCOPE,
  resemblesKey,
  statusOf,
} from '../serve/access/keys.ts';
import {
  type Limits,
  parseConcurrency,
  parseQuota,
  parseRate,
  renderQuota,
  renderRate,
} from '../serve/access/limits.ts';
import { linkPath, openSessions } from '../serve/access/sessions.ts';
import type { Context } from './context.ts';
import { withExamples } from './help.ts';

type Options = {
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

/** What each action is done to, and the options that it takes. */
const actions = {
  create: { target: null, options: ['name', 'account', 'scope', 'expires', 'allow', ...limitOptions] },
  list: { target: null, options: [] },
  revoke: { target: 'key', options: [] },
  rotate: { target: 'key', options: ['overlap', 'expires'] },
  limits: { target: 'account', options: limitOptions },
  page: { target: null, options: [] },
} as const satisfies Record<
  string,
  { target: 'key' | 'account' | null; options: readonly (keyof Options)[] }
>;
type Action = keyof typeof actions;

const DEFAULT_OVERLAP = '24h';
const LONGEST_NAME = 64;
const LONGEST_MS = 100 * 365 * DAY_MS;
/** Written instead of a limit or a scope. */
const NONE = 'none';

export function keysCommand(context: Context): Command {
  const again = (value: string, before: string[] = []) => [...before, value];
  const command = new Command('keys')
    .addArgument(new Argument('<action>', 'what to do').choices(Object.keys(actions)))
    .argument('[which]', 'revoke, rotate: the id of a key, or its name; limits: an account, all unless given')
    .optionsGroup('Options of create:')
    .option('--name <name>', 'what the key is for, as the list shows it')
    .option('--account <name>', 'the account whose limits it shares (default: one of its own name)')
    .option('--scope <scope>', 'a scope, once for each (default: every dataset); none: usage alone', again)
    .option('--expires <duration>', 'until it expires, such as 90d; also of rotate')
    .option(
      '--allow <network>',
      'the only addresses that may use it, once for each: 192.0.2.7, 10.0.0.0/8',
      again,
    )
    .optionsGroup('Options of create, for a new account, and of limits:')
    .option('--quota <calls/period>', 'such as 1000/1h, or 1000/1h,refill; none: no quota')
    .option('--rate <calls/period>', 'such as 10/1s, or 10/1s+20 with a burst; none: no limit')
    .option('--concurrency <calls>', 'calls at the same time; none: no limit')
    .optionsGroup('Options of rotate:')
    .option('--overlap <duration>', 'how long the old key stays valid; 24h unless given')
    .optionsGroup('Options:')
    .option('--json', 'print the result as JSON')
    .action((action: Action, which: string | undefined, options: Options) =>
      keys(action, which, options, context),
    );
  return withExamples(
    command,
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
    ['a link to the page of serve, for a browser on this machine', 'keys page'],
  );
}

/** What an action says: to programs, to people, and to people on stderr beside either. */
type Report = { json: unknown; text: string; notes?: readonly string[] };

async function keys(
  action: Action,
  which: string | undefined,
  options: Options,
  { environment, clock, stdout, stderr, hint }: Context,
): Promise<void> {
  refuseMisuse(action, which, options);
  const run = await readAction(action, which ?? '', options, clock.now());
  const { json, text, notes = [] } = run(readLocalConfig(environment).dir, paintFor(stdout));
  stdout.write(options.json ? `${printableJson(json)}\n` : `${hint(text)}\n`);
  for (const note of notes) stderr.write(`${note}\n`);
}

/** Reads and checks all options first: nothing is done where any of them is wrong. */
async function readAction(
  action: Action,
  which: string,
  options: Options,
  now: number,
): Promise<(dir: string, paint: Paint) => Report> {
  const limits = readLimits(options);
  const lifetimeMs =
    options.expires === undefined ? undefined : readDuration('--expires', options.expires, 1);
  const overlapMs = readDuration('--overlap', options.overlap ?? DEFAULT_OVERLAP, 0);
  switch (action) {
    case 'create': {
      const terms = {
        ...(await readTerms(options)),
        expiresAt: lifetimeMs === undefined ? null : now + lifetimeMs,
      };
      return onKeyring((keyring) => reportIssued(keyring.create(terms, limits, now), now));
    }
    case 'rotate':
      return onKeyring((keyring) => reportRotated(keyring.rotate(which, overlapMs, lifetimeMs, now), now));
    case 'revoke':
      return onKeyring((keyring) => reportRevoked(keyring.revoke(which, now), now));
    case 'list':
      return onKept((keyring, paint) => reportKeys(keyring?.list() ?? [], now, paint));
    case 'limits':
      if (which === '') return onKept((keyring, paint) => reportAccounts(keyring?.accounts() ?? [], paint));
      return onKeyring((keyring, paint) => {
        const account = limits ? keyring.setLimits(which, limits) : keyring.account(which);
        return { ...reportAccounts([account], paint), json: accountJson(account) };
      });
    case 'page':
      return (dir) => reportLink(linkToPage(dir, now));
  }
}

function onKeyring(work: (keyring: Keyring, paint: Paint) => Report) {
  return (dir: string, paint: Paint): Report => {
    const keyring = openKeyring(dir);
    try {
      return work(keyring, paint);
    } finally {
      keyring.close();
    }
  };
}

/** The same, but makes no database where there is none: the folder may be the wrong one. */
function onKept(work: (keyring: Keyring | undefined, paint: Paint) => Report) {
  return (dir: string, paint: Paint): Report =>
    existsSync(serveFile(dir)) ? onKeyring(work)(dir, paint) : work(undefined, paint);
}

/** @throws Failure `usage` for what the action does not take, and for what it lacks. */
function refuseMisuse(action: Action, which: string | undefined, options: Options): void {
  const { target, options: allowed }: { target: string | null; options: readonly string[] } = actions[action];
  for (const name of Object.keys(options))
    if (name !== 'json' && !allowed.includes(name)) throw usage(`keys ${action} takes no --${name}`);
  for (const text of [which, options.name, options.account])
    if (text !== undefined && resemblesKey(text))
      throw usage('a key is named by its id, which market-mirror keys list shows, and never typed itself');
  if (target === null && which !== undefined) throw usage(`keys ${action} takes no '${printable(which)}'`);
  if (target === 'key' && !which)
    throw usage(`keys ${action} needs the id of a key: market-mirror keys list shows them`);
  if (target === 'account' && !which && limitOptions.some((name) => options[name] !== undefined))
    throw usage(`keys ${action} needs the account whose limits are to be changed`);
}

const usage = (message: string) => new Failure('usage', `${message}; see market-mirror keys --help`);

async function readTerms({ name: given, account, scope, allow }: Options) {
  const name = readName(given, '--name');
  return {
    name,
    account: account === undefined ? name : readName(account, '--account'),
    scopes: readScopes(scope, scopesOf(await listJobs())),
    addresses: allow ? [...new Set(allow.map((text) => attempt('--allow', text, readNetwork)))] : null,
  };
}

function readNetwork(text: string): string {
  const { network } = parseNetwork(text) ?? {};
  if (network !== undefined) return network;
  throw new Error('an address or a network, such as 192.0.2.7, 10.0.0.0/8 or 2001:db8::/32');
}

/** @throws Failure `usage` for what cannot stand in a list. */
function readName(text: string | undefined, option: '--name' | '--account'): string {
  if (text === undefined) throw usage('keys create needs --name, which tells what the key is for');
  const isPlain = text.trim() === text && text !== '' && printable(text) === text;
  if (!isPlain || text.length > LONGEST_NAME)
    throw usage(`${option} is a text of 1 to ${LONGEST_NAME} letters, without spaces around it`);
  return text;
}

/** @param datasets the scopes of all datasets. */
function readScopes(scopes: readonly string[] | undefined, datasets: readonly string[]): string[] {
  if (!scopes) return [...datasets];
  const known = [...datasets, METRICS_SCOPE, PAGE_SCOPE];
  if (scopes.length === 1 && scopes[0] === NONE) return [];
  for (const scope of scopes)
    if (!known.includes(scope))
      throw usage(
        `there is no scope '${printable(scope)}'${nearest(scope, known)}; known are ${known.join(', ')}, or ${NONE} alone`,
      );
  return known.filter((scope) => scopes.includes(scope));
}

/** Milliseconds, `least` of them at least. */
function readDuration(option: '--expires' | '--overlap', text: string, least: number): number {
  const length = millisecondsOf(text);
  if (length === undefined || length < least || length > LONGEST_MS)
    throw usage(`${option} is a duration such as 30m, 24h or 90d, not '${printable(text)}'`);
  return Math.round(length);
}

/** Undefined where none was given. */
function readLimits({ quota, rate, concurrency }: Options): Partial<Limits> | undefined {
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

/** A link to the page. `expiresAt`: ISO 8601 UTC; null where the page opens for everybody on this machine. */
type Link = { readonly url: string; readonly expiresAt: string | null };

/** As long as another process may well be writing. */
const LOCK_WAIT_MS = 5_000;

/**
 * A new link to the page of the service that runs on the folder, by the settings of that service.
 * @throws Failure `incomplete` where no serve runs on the folder, `usage` where a link would open nothing.
 */
export function linkToPage(dir: string, now: number): Link {
  const { url, page, links } = readService(dir) ?? {};
  if (!url)
    throw new Failure(
      'incomplete',
      `no serve is running for ${dir}: run market-mirror serve, or set MIRROR_DIR to the folder of the one that runs`,
    );
  if (page === 'off')
    throw new Failure(
      'usage',
      `the service at ${url} runs with MIRROR_SERVE_PAGE=off: it has no page to which a link could lead`,
    );
  const address = onThisMachine(url);
  if (page === 'token' && links === false)
    throw new Failure(
      'usage',
      `serve at ${url} may be called through a proxy (MIRROR_SERVE_TRUST or MIRROR_SERVE_HOSTS), so nobody counts as on its machine: its page opens by a key, which market-mirror keys create --name me --scope ${PAGE_SCOPE} makes`,
    );
  if (page === 'open') return { url: `${address}/`, expiresAt: null };
  const sessions = openSessions(dir, LOCK_WAIT_MS);
  try {
    const issued = sessions.issueLink(now);
    return { url: `${address}${linkPath(issued)}`, expiresAt: isoTime(issued.expiresAt) };
  } finally {
    sessions.close();
  }
}

const everywhere: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '[::]': '[::1]' };

/** Where a browser on the machine of the service reaches it. */
function onThisMachine(url: string): string {
  const { protocol, hostname, port } = new URL(url);
  const host = everywhere[hostname] ?? hostname;
  if (isLoopback(host)) return `${protocol}//${host}${port && `:${port}`}`;
  throw new Failure(
    'usage',
    `serve listens on ${url}, which is not this machine's own: its page opens by a key, which market-mirror keys create --name me --scope ${PAGE_SCOPE} makes`,
  );
}

/** A key as programs see it; never the key itself. */
const keyJson = (record: KeyRecord, now: number) => ({ ...record, status: statusOf(record, now) });

const limitsJson = ({ quota, rate, concurrency }: Limits) => ({
  quota: quota && renderQuota(quota),
  rate: rate && renderRate(rate),
  concurrency,
});

const accountJson = ({ account, limits }: Account) => ({ account, ...limitsJson(limits) });

function reportIssued({ key, record, limits }: Issued, now: number) {
  const { id, ...others } = keyJson(record, now);
  return {
    json: { id, key, ...others, limits: limitsJson(limits) },
    text: key,
    notes: [
      `This is the key ${id}. It is shown this once: only its SHA-256 is stored.`,
      'Give it only to those who are entitled to the data of this account: the responses of the API are private.',
      ...(record.scopes.includes(PAGE_SCOPE)
        ? [
            `With ${PAGE_SCOPE} it opens the page, which asks SQL of every dataset and of all calls that the mirror has made, whatever its other scopes are.`,
          ]
        : []),
    ],
  };
}

function reportRotated({ replaced, ...issued }: Rotated, now: number): Report {
  const { json, text, notes } = reportIssued(issued, now);
  const ends = `The key ${replaced.id} that it replaces stays valid until ${replaced.expiresAt}.`;
  return { json: { ...json, replaces: keyJson(replaced, now) }, text, notes: [...notes, ends] };
}

function reportRevoked(record: KeyRecord, now: number): Report {
  return { json: keyJson(record, now), text: `${record.id} (${record.name}) is refused from now on` };
}

function reportLink(link: Link): Report {
  const note =
    link.expiresAt === null
      ? 'The service runs with MIRROR_SERVE_PAGE=open: everybody on this machine sees its page.'
      : `It opens the page on this machine until ${link.expiresAt}. Whoever has it sees what the mirror holds: give it to nobody else.`;
  return { json: link, text: link.url, notes: [note] };
}

function reportKeys(records: readonly KeyRecord[], now: number, paint: Paint): Report {
  const json = records.map((record) => keyJson(record, now));
  if (json.length === 0) return { json, text: 'there is no key: market-mirror keys create makes one' };
  const columns: TableColumn<(typeof json)[number]>[] = [
    { name: 'id', cell: ({ id }) => id },
    { name: 'name', cell: ({ name }) => name },
    { name: 'account', cell: ({ account }) => account },
    { name: 'status', cell: ({ status }) => paint(status === 'active' ? 'green' : 'red', status) },
    {
      name: 'last used',
      cell: ({ lastUsedAt }) => (lastUsedAt === null ? 'never' : relative(lastUsedAt, now)),
    },
    { name: 'expires', cell: ({ expiresAt }) => relative(expiresAt, now) },
    { name: 'from', cell: ({ addresses }) => addresses?.join(' ') ?? 'anywhere' },
    { name: 'scopes', cell: ({ scopes }) => scopes.join(' ') || '–' },
  ];
  return { json, text: renderTable(columns, json, paint) };
}

function reportAccounts(accounts: readonly Account[], paint: Paint): Report {
  const json = accounts.map(accountJson);
  if (json.length === 0)
    return { json, text: 'there is no account: market-mirror keys create makes one with its first key' };
  const names = ['account', 'quota', 'rate', 'concurrency'] as const;
  const columns = names.map((name) => ({
    name,
    cell: (account: (typeof json)[number]) => String(account[name] ?? 'none'),
  }));
  return { json, text: renderTable(columns, json, paint) };
}
