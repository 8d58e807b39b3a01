/** `npm run bench -- serve`: the built service, with keys, limits and log, beside a bare `node:http` server that answers the same bytes from memory. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { openKeyring } from '../../src/serve/access/keyring.ts';
import { atMost, printTable, type Table, targetHeads } from '../figures.ts';
import { withMirror } from '../passes.ts';
import { readBenchOptions, type ServeTable } from './lines.ts';
import { distinctOffsets, load, quantile, type Server, startBare, startServe } from './load.ts';

async function bench(): Promise<void> {
  const { rows, keys: count, minutes, tables } = readBenchOptions();
  await withMirror(rows, async (folder) => {
    const keys = issueKeys(folder, count);
    const serve = await startServe(folder, { MIRROR_SERVE_QUERY: 'on' });
    try {
      process.stdout.write(
        `${rows.toLocaleString('en-US')} rows each of news and ai-signals, ${count} keys\n`,
      );
      const measures: Record<ServeTable, () => Promise<Table>> = {
        pages: () => measurePages(serve, folder, keys, rows),
        beside: () => measureBeside(serve, keys, rows, minutes),
        idle: () => measureIdle(serve, minutes),
      };
      for (const table of tables) printTable(await measures[table]());
    } finally {
      await serve.end();
    }
  });
}

const limits = {
  quota: { calls: 1_000_000_000, periodMs: 3_600_000, kind: 'fixed' },
  rate: { calls: 100_000, periodMs: 1_000, burst: 100_000 },
  concurrency: 1_000,
} as const;

/** Each with an account and limits of its own that nothing here reaches. */
function issueKeys(folder: string, count: number): string[] {
  const keyring = openKeyring(folder);
  const scopes = ['news:read', 'ai-signals:read'];
  const keys = Array.from({ length: count }, (_, at) => {
    const terms = { name: `key-${at}`, account: `account-${at}`, scopes, addresses: null, expiresAt: null };
    return keyring.create(terms, limits, Date.now()).key;
  });
  keyring.close();
  return keys;
}

/** Each looks at every row, as long as it may, and two of them are one account's. */
const HEAVIEST = '/mirror/v1/news?_body=ilike.*a*e*i*o*u*y*0*&order=_body.desc&limit=1000';
const HEAVY = 4;
const QUESTIONS = 20;
const LIST_CONNECTIONS = 200;
const LOOK_EVERY_MS = 50;

/** Others beside questions that never end: `/healthz` beside four, lists by many beside twenty, and the memory of all processes. */
async function measureBeside(
  serve: Server,
  keys: readonly string[],
  rows: number,
  minutes: number,
): Promise<Table> {
  const seconds = minutes * 60;
  const lines: string[][] = [];
  const took: number[] = [];
  const stopFour = keepAsking(serve, keys, HEAVY);
  const { asked } = await looking(seconds, async () => {
    const begun = performance.now();
    await (await fetch(`${serve.url}/healthz`)).arrayBuffer();
    took.push(performance.now() - begun);
  });
  await stopFour();
  const health = Float64Array.from(took).sort();
  const slowest = quantile(health, 1);
  lines.push([
    `/healthz beside ${HEAVY} of the heaviest questions, ${asked} times`,
    ...[quantile(health, 0.5), quantile(health, 0.99), slowest].map((ms) => ms.toFixed(1)),
    '',
    ...atMost(quantile(health, 0.99), 50),
  ]);

  const offsets = distinctOffsets(0, rows - LIMIT);
  let turn = 0;
  const next = () => {
    turn += 1;
    const job = turn % 2 === 0 ? 'news' : 'ai-signals';
    return { path: `/api/v1/${job}?limit=${LIMIT}&offset=${offsets()}`, key: keys[turn % keys.length] ?? '' };
  };
  const stopTwenty = keepAsking(serve, keys, QUESTIONS);
  const seen: number[] = [];
  const lists = load(serve, { connections: LIST_CONNECTIONS, duration: seconds }, '2xx', next);
  await looking(seconds, async () => void seen.push(serve.residentMb()));
  const { perSecond, took: pages } = await lists;
  await stopTwenty();
  lines.push([
    `lists by ${LIST_CONNECTIONS} connections beside ${QUESTIONS} questions`,
    ...[0.5, 0.99, 1].map((share) => quantile(pages, share).toFixed(0)),
    perSecond.toFixed(0),
    '',
    '',
  ]);
  const peak = Math.max(...seen);
  lines.push(['memory of all processes meanwhile, MB', '', '', '', peak.toFixed(0), ...atMost(peak, 2_500)]);
  return {
    about: `beside questions that never end, ${minutes} minutes each`,
    heads: ['', 'median ms', '99 of 100', 'slowest', 'a second, or most', ...targetHeads],
    rows: lines,
  };
}

/** So many clients ask the heaviest question again and again. @returns what stops them. */
function keepAsking({ url }: Server, keys: readonly string[], clients: number): () => Promise<void> {
  const over = new AbortController();
  const ask = async (client: number) => {
    const headers = { authorization: `Bearer ${keys[Math.floor(client / 2) % keys.length]}` };
    while (!over.signal.aborted) {
      const answer = await fetch(url + HEAVIEST, { headers, signal: over.signal }).catch(() => undefined);
      await answer?.arrayBuffer().catch(() => undefined);
      if (answer?.status === 503) await sleep(LOOK_EVERY_MS);
    }
  };
  const clientsAsking = Array.from({ length: clients }, (_, client) => ask(client));
  return async () => {
    over.abort();
    await Promise.all(clientsAsking);
  };
}

/** Looks again and again for so long, once the questions have begun. */
async function looking(seconds: number, look: () => Promise<void>): Promise<{ asked: number }> {
  await sleep(1_000);
  const until = performance.now() + seconds * 1_000;
  let asked = 0;
  for (; performance.now() < until; asked += 1) {
    await look();
    await sleep(LOOK_EVERY_MS);
  }
  return { asked };
}

const SETTLE_MS = 10_000;

/** The service where nobody asks. */
async function measureIdle(serve: Server, minutes: number): Promise<Table> {
  // What was asked before has come to its end.
  await sleep(SETTLE_MS);
  const before = serve.cpuMs();
  await sleep(minutes * 60_000);
  const share = ((serve.cpuMs() - before) / (minutes * 60_000)) * 100;
  return {
    about: `nobody asks, for ${minutes} minutes`,
    heads: ['', '% of a core', ...targetHeads],
    rows: [['serve', share.toFixed(2), ...atMost(share, 0.1)]],
  };
}

const PAGES = 1_000;
/** Pages by which the compiler is through with what is called most. */
const SQL_WARM_UP = 1_000;
const LIMIT = 100;

/** Pages that were not asked for before, so that each is read from SQL. A bare server shows how much of the slowest is the client and the machine. */
async function measurePages(
  serve: Server,
  folder: string,
  [key = '']: readonly string[],
  rows: number,
): Promise<Table> {
  const lines: string[][] = [];
  const answered = async (server: Server, amount: number, path: () => string) => {
    const { cpuMs, took } = await load(server, { connections: 1, amount }, '2xx', () => ({
      path: path(),
      key,
    }));
    return { cpuMs, median: quantile(took, 0.5), slow: quantile(took, 0.99) };
  };
  for (const job of ['news', 'ai-signals']) {
    const path = (limit: number, offset: number) => `/api/v1/${job}?limit=${limit}&offset=${offset}`;
    const first = await fetch(`${serve.url}${path(LIMIT, 0)}`, {
      headers: { authorization: `Bearer ${key}` },
    });
    const file = join(folder, 'page.json');
    writeFileSync(file, Buffer.from(await first.arrayBuffer()));
    const bare = await startBare(file);
    try {
      await answered(bare, SQL_WARM_UP, () => '/');
      const { cpuMs, median, slow } = await answered(bare, PAGES, () => '/');
      lines.push([`${job}, bare`, cpuMs.toFixed(2), '', '', median.toFixed(2), slow.toFixed(2), '', '']);
    } finally {
      await bare.end();
    }
    const others = distinctOffsets(0, rows - LIMIT);
    await answered(serve, SQL_WARM_UP, () => path(LIMIT - 1, others()));
    for (const [where, from, to] of [
      ['the first tenth', 0, rows / 10],
      ['anywhere', 0, rows],
      ['the last tenth', rows - rows / 10, rows],
    ] as const) {
      const offsets = distinctOffsets(from, to - LIMIT);
      const { cpuMs, median, slow } = await answered(serve, PAGES, () => path(LIMIT, offsets()));
      const figures = [cpuMs.toFixed(2), ...atMost(cpuMs, 1.5), median.toFixed(2), slow.toFixed(2)];
      lines.push([`${job}, ${where}`, ...figures, ...atMost(slow, 5)]);
    }
  }
  return {
    about: `${PAGES} pages of ${LIMIT} rows that must be read from SQL, one after the other, at offsets up to ${rows.toLocaleString('en-US')}`,
    heads: ['', 'CPU ms', ...targetHeads, 'median ms', '99 of 100', ...targetHeads],
    rows: lines,
  };
}

await bench();
