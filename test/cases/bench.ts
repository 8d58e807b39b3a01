/**
 * Runs a table of cases: an API that answers as the case says, `market-mirror` as people type it, and what its database, its messages
 * and its exit codes then say. Time is virtual, HTTP and SQLite are real.
 */

import { createServer, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { Database } from '../../src/store/sqlite.ts';
import { layEmptyMirror } from '../helpers/empty-mirror.ts';
import { memoryFolder } from '../helpers/folder.ts';
import { listenOnLoopback } from '../helpers/loopback.ts';
import { runMain } from '../helpers/main.ts';
import { read } from '../helpers/sync-bench.ts';
import { virtualClock } from '../helpers/virtual-clock.ts';

const CANARY = 'canary-key-c0ffee42';

export type Row = Record<string, unknown>;

/** A request for a page; `nth` of all requests, `run` of the commands that made requests, from 1. */
export type PageRequest = { offset: number; limit: number; nth: number };

/** JSON to send, or a response made by hand. */
export type Reply = { status?: number; json?: unknown; text?: string; headers?: Record<string, string> };

export type Bench = ReturnType<typeof createBench> extends Promise<infer Made> ? Made : never;
export type Step = (bench: Bench) => Promise<void> | void;

export type Case = {
  it: string;
  /** The list that the API has; others are answered as empty. */
  job?: string;
  settings?: Record<string, string>;
  /** Fields of which only the last value is kept. */
  aside?: readonly string[];
  steps: readonly Step[];
};

export function runCases(cases: readonly Case[]): void {
  for (const { it: name, job = 'news', settings = {}, aside = [], steps } of cases)
    it(name, { timeout: 60_000 }, async () => {
      const bench = await createBench(job, settings, aside);
      for (const step of steps) await step(bench);
    });
}

async function createBench(job: string, settings: Record<string, string>, aside: readonly string[]) {
  const clock = virtualClock();
  const cwd = memoryFolder('mm-case-');
  await layEmptyMirror(join(cwd, 'data'));
  const file = join(cwd, 'data/mirror.db');
  const table = job.replaceAll('-', '_');
  const asked: PageRequest[] = [];
  const textOf = (row: unknown) => JSON.stringify(withoutFields(row, aside));
  /** Every row that ever came, by its JSON. */
  const came = new Set<string>();
  const state = {
    /** What the list holds, as it stands upstream. */
    rows: [] as readonly Row[],
    /** The same of every other list. */
    others: [] as readonly Row[],
    /** Answers instead of the list where it returns something. */
    answer: (_request: PageRequest): Reply | undefined => undefined,
    /** Made before each answer. */
    before: (_request: PageRequest): void => undefined,
    /** Makes the body of a page of rows. */
    envelope: (rows: readonly Row[], request: PageRequest, total: number): unknown =>
      pageOf(rows, request, total),
  };
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://upstream');
    response.sendDate = false;
    const page = {
      offset: Number(searchParams.get('offset') ?? 0),
      limit: Number(searchParams.get('limit') ?? 100),
      nth: asked.length + 1,
    };
    if (!pathname.endsWith(job)) {
      const { others } = state;
      const shown = others.slice(page.offset, page.offset + page.limit);
      return send(response, { json: pageOf(shown, page, others.length) });
    }
    asked.push(page);
    state.before(page);
    const other = state.answer(page);
    if (other) return send(response, other);
    const rows = state.rows.slice(page.offset, page.offset + page.limit);
    for (const row of rows) came.add(textOf(row));
    send(response, { json: state.envelope(rows, page, state.rows.length) });
  });
  const { url, close } = await listenOnLoopback(server);
  onTestFinished(close);
  const environment = {
    MARKET_API_URL: url,
    MARKET_API_KEY: CANARY,
    MIRROR_DIR: join(cwd, 'data'),
    ...settings,
  };
  const run = async (args: string[], more: Record<string, string> = {}) => {
    const ended = await runMain(args, { ...environment, ...more }, clock);
    expect(ended.stdout + ended.stderr).not.toContain(CANARY);
    return ended;
  };
  const sql = <Found = Row>(query: string): Found[] => read<Found>(file, query);
  return {
    ...{ job, table, file, clock, state, asked, came, run, sql, environment },
    /** Bodies that the mirror has ever shown, those of its history included. */
    known: (): Set<string> =>
      new Set(
        sql<{ body: string }>(
          `SELECT _body AS body FROM ${table} UNION SELECT _body FROM ${table}_history`,
        ).map(({ body }) => textOf(JSON.parse(body))),
      ),
    textOf,
    write(statements: string): void {
      const database = new Database(file);
      database.exec(statements);
      database.close();
    },
  };
}

function send(response: ServerResponse, { status = 200, json, text, headers }: Reply): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(text ?? JSON.stringify(json));
}

export function pageOf(rows: readonly Row[], { offset, limit }: PageRequest, total: number) {
  const hasMore = offset + rows.length < total;
  return { rows, pagination: { offset, limit, total, returned: rows.length, hasMore } };
}

function withoutFields(row: unknown, paths: readonly string[]): unknown {
  const copy = structuredClone(row);
  for (const path of paths) {
    const names = path.split('.');
    const last = names.pop() as string;
    const holder = names.reduce<unknown>((inner, name) => (inner as Row | undefined)?.[name], copy) as
      | Row
      | undefined;
    if (holder) delete holder[last];
  }
  return copy;
}

/** A list of so many rows. */
export const rowsOf = (count: number, row: (at: number) => Row): Row[] =>
  Array.from({ length: count }, (_, at) => row(at));

// The steps of a case.

/** A snapshot of signals is published at this minute, and stands until the next one is. */
export function publishes(minute: number): Step {
  return ({ state }) => {
    const generatedAt = new Date(Date.parse('2026-11-21T12:00:00Z') + minute * 60_000).toISOString();
    const source = 'published-signal-snapshot';
    state.envelope = (rows, request, total) => ({
      generatedAt,
      source,
      mode: 'read-only',
      ...pageOf(rows, request, total),
    });
  };
}

/** The list upstream is this from now on; or its rows are changed. */
export const upstream =
  (rows: readonly Row[] | ((rows: readonly Row[]) => readonly Row[])): Step =>
  ({ state }) => {
    state.rows = typeof rows === 'function' ? rows(state.rows) : rows;
  };

/** The API answers so from now on, where `answer` returns something; without it, as ever. */
export const answers =
  (answer: Bench['state']['answer'] = () => undefined): Step =>
  ({ state }) => {
    state.answer = answer;
  };

/** The list changes just before the request for this page is answered, once. */
export const before =
  (offset: number, change: (rows: readonly Row[]) => readonly Row[]): Step =>
  ({ state }) => {
    let isDone = false;
    state.before = (request) => {
      if (isDone || request.offset < offset) return;
      isDone = true;
      state.rows = change(state.rows);
    };
  };

export const envelope =
  (make: Bench['state']['envelope']): Step =>
  ({ state }) => {
    state.envelope = make;
  };

/** Time goes on. */
export const after =
  (ms: number): Step =>
  ({ clock }) =>
    clock.advance(ms);

/** A command ends with this exit code, and says this. */
export const runs =
  (command: string, code: number, says: string | RegExp = '', settings: Record<string, string> = {}): Step =>
  async (bench) => {
    const ended = await bench.run(command.split(' '), settings);
    const { stdout, stderr } = ended;
    expect({ command, code: ended.code, stdout, stderr }).toMatchObject({ code });
    expect(`${stdout}${stderr}`).toMatch(says);
    expect(stderr).not.toMatch(/\n\s+at /);
  };

/**
 * Mirrors the list a minute after the last run. Whatever ends it, every row that ever came is in the table or its history then.
 * @param times runs, each ending so.
 */
export const syncs =
  (code = 0, { says = '' as string | RegExp, times = 1, settings = {} } = {}): Step =>
  async (bench) => {
    for (let time = 0; time < times; time += 1) {
      bench.clock.advance(60_000);
      await runs(`sync ${bench.job} --no-wait`, code, says, settings)(bench);
      holdsAllThatCame(bench);
    }
  };

/** Mirrors the list at every minute until a run ends so, `within` so many. */
export const syncsUntil =
  (code: number, within: number): Step =>
  async (bench) => {
    const codes: (number | null)[] = [];
    while (codes.at(-1) !== code && codes.length < within) {
      bench.clock.advance(60_000);
      codes.push((await bench.run(['sync', bench.job, '--no-wait'])).code);
      holdsAllThatCame(bench);
    }
    expect(codes.at(-1), codes.join(', ')).toBe(code);
  };

function holdsAllThatCame({ came, known, textOf, job, sql, table }: Bench): void {
  if (
    job === 'ai-signals' ||
    job === 'usage' ||
    sql(`SELECT 1 FROM sqlite_master WHERE name = '${table}'`).length === 0
  )
    return;
  const kept = known();
  for (const { body } of sql<{ body: string }>('SELECT body FROM quarantine'))
    kept.add(textOf(JSON.parse(body)));
  expect([...came].filter((body) => !kept.has(body)).slice(0, 3)).toEqual([]);
}

/** SQL over the mirror finds these rows; one value stands for one row of one column. */
export const finds =
  (query: string, ...rows: unknown[]): Step =>
  ({ sql, table }) => {
    const found = sql<Row>(query.replaceAll('LIST', table)).map((row) => {
      const values = Object.values(row);
      return values.length === 1 ? values[0] : values;
    });
    expect({ query, found }).toEqual({ query, found: rows });
  };

/** The table is what stands upstream, and nothing of it is held. */
export const mirrorsAll: Step = (bench) => {
  const shown = bench
    .sql<{ body: string }>(`SELECT _body AS body FROM ${bench.table} WHERE _held_since IS NULL`)
    .map(({ body }) => JSON.stringify(JSON.parse(body)));
  expect(shown.toSorted()).toEqual(bench.state.rows.map((row) => JSON.stringify(row)).toSorted());
};

/** So many versions are in the history, and so many of them are rows that went. */
export const versions = (updated: number, removed = 0): Step =>
  finds(
    `SELECT count(*) FILTER (WHERE _ended_by = 'update'), count(*) FILTER (WHERE _ended_by = 'delete') FROM LIST_history`,
    [updated, removed],
  );

/** What `status` says: a message with the advice below it, or a part of it. */
export const statusSays =
  (...texts: (string | RegExp)[]): Step =>
  async ({ run }) => {
    const { stdout } = await run(['status']);
    for (const text of texts) expect(stdout).toMatch(text);
  };

/** What `status` does not say, or no longer. */
export const statusLacks =
  (...texts: (string | RegExp)[]): Step =>
  async ({ run }) => {
    const { stdout } = await run(['status']);
    for (const text of texts) expect(stdout).not.toMatch(text);
  };

/** The requests since the last look were for these offsets (with limits where those are not 100); one may be repeated. */
export const asks =
  (...pages: string[]): Step =>
  ({ asked }) => {
    const shown = asked
      .splice(0)
      .map(({ offset, limit }) => (limit === 100 ? `${offset}` : `${offset}+${limit}`));
    expect(shown.filter((page, at) => page !== shown[at - 1])).toEqual(pages);
  };
