/**
 * A year of the default schedules in virtual time: how large the mirror gets, and what `status` takes then. Some days are lived over HTTP
 * with a real store; the others repeat the day before row by row, but for a ranked list, which is lived every day.
 */

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Row } from '../../model-api/index.ts';
import { isoTime } from '../../src/clock.ts';
import { readConfig } from '../../src/config.ts';
import { listed } from '../../src/job.ts';
import { datasetsOf, ownSchedules } from '../../src/job-list.ts';
import { readStatus } from '../../src/reading/status.ts';
import { intervalOf, parseSchedule } from '../../src/schedule.ts';
import { copyDatabase, mirrorBytes } from '../../src/store/read.ts';
import { both, change, type Edit, insert, move, publish, remove } from '../../test/helpers/edits.ts';
import { type Bench, openBench } from '../../test/helpers/mirror-bench.ts';
import { markdownRow, markdownTable, median } from '../figures.ts';

type YearOptions = {
  days: number;
  /** Every so many days is lived. */
  livedEvery: number;
  print: (line: string) => void;
};

const DAY_MS = 24 * 3_600_000;
const ROWS = 200;
/** What `docs/reliability.md` promises of a year. */
const MOST_MB = 500;
const MOST_STATUS_RATIO = 1.2;

/** @throws Error where the mirror has outgrown its bound, or `status` takes longer than it may. */
export async function liveYear({ days, livedEvery, print }: YearOptions): Promise<void> {
  const bench = await openBench({ rows: ROWS, keepCalls: 10 });
  const environment = { MARKET_API_URL: bench.model.url, MARKET_API_KEY: 'soak', MIRROR_KEEP_HISTORY: '90d' };
  const { keep, schedules, spending } = readConfig(environment, ownSchedules(bench.jobs));
  const afterADay = { dir: join(bench.dir, 'after-a-day'), now: 0 };
  print(markdownTable(['day', 'walks', 'calls', 'versions', 'snapshots', 'refused', 'MB'], []));
  try {
    for (let day = 0; day < days; day += 1) {
      const isRepeated = day % livedEvery !== 0;
      if (isRepeated) repeatDay(bench, bench.clock.now() - DAY_MS, RANKED);
      await liveDay(bench, isRepeated ? [RANKED] : Object.keys(edits).concat('usage'));
      for (const job of bench.jobs) await bench.store.prune(job, keep, addedInADay);
      if (day === 0) {
        mkdirSync(afterADay.dir);
        await copyDatabase(bench.store.file, join(afterADay.dir, 'mirror.db'), new AbortController().signal);
        afterADay.now = bench.clock.now();
      }
      if (day % 30 === 0 || day === days - 1) print(figuresOf(bench, day + 1));
    }
    const datasets = datasetsOf(bench.jobs.map(listed), schedules);
    const status = timesOf(
      () => readStatus(afterADay.dir, datasets, spending, afterADay.now),
      () => readStatus(bench.dir, datasets, spending, bench.clock.now()),
    );
    judge(bench, status, print);
  } finally {
    await bench.close();
  }
}

/** The daemon says after each walk how much it has added: a day's work is no more than this. */
const addedInADay = 20_000;

/** The list that is lived every day. */
const RANKED = 'smart-wallets';

/** What changes upstream, and how often. */
const edits: Record<string, { everyMs: number; edit: (now: number) => Edit }> = {
  'ai-signals': {
    everyMs: DAY_MS / 48,
    edit: (now) =>
      both(
        insert(0),
        remove(ROWS),
        change(20, { confidence: (now % 997) / 1_000 }),
        refuse(now),
        publish(isoTime(now)),
      ),
  },
  news: { everyMs: DAY_MS / 40, edit: () => both(insert(0), remove(ROWS)) },
  [RANKED]: { everyMs: DAY_MS / 96, edit: rank },
  'meme-signals': { everyMs: DAY_MS / 96, edit: () => both(insert(0), remove(ROWS)) },
};

/** Rows that are ranked too low to be shown now. */
const benched: Row[] = [];

/** As a ranked list: one row changes, some move, and of the last ten half are there at every other walk, half at every third. */
function rank(now: number): Edit {
  return (dataset) => {
    if (benched.length === 0) benched.push(...dataset.make(15));
    change(now % ROWS, { score: now % 1_009 })(dataset);
    for (const at of [7, 40, 110]) move((now + at) % (ROWS - 20), at)(dataset);
    const [alternating, rotating] = [dataset.rows.splice(-10, 5), dataset.rows.splice(-5)];
    dataset.rows.push(...benched.splice(0, 5), ...benched.splice(0, 5));
    benched.unshift(...alternating);
    benched.push(...rotating);
  };
}

const refusedRow = { id: null, asset: 'BTC', rationale: 'shows no id' };

/** One row without a readable key, and another each time but for what is stable in it. */
function refuse(now: number): Edit {
  return (dataset) => {
    const rows = dataset.rows.filter(({ id }) => id !== null);
    const quality = { publishable: true, grade: 'A', ageSeconds: now % 1_000, freshness: 'live', checks: [] };
    dataset.rows = rows.toSpliced(30, 0, { ...refusedRow, quality });
  };
}

/** @param lived the jobs that walk, and whose datasets change. */
async function liveDay(bench: Bench, lived: readonly string[]): Promise<void> {
  const { clock } = bench;
  const end = clock.now() + DAY_MS;
  const jobs = bench.jobs.filter(({ name }) => lived.includes(name));
  const walks = jobs.map(({ name, schedule }) => ({
    at: clock.now(),
    everyMs: intervalOf(parseSchedule(schedule), clock.now()),
    happen: () => bench.mirror(name),
  }));
  const edited = Object.entries(edits).filter(([job]) => lived.includes(job));
  const changes = edited.map(([job, { everyMs, edit }]) => ({
    at: clock.now() + everyMs / 2,
    everyMs,
    happen: () => edit(clock.now())(bench.upstream(job)),
  }));
  for (const events = [...walks, ...changes]; ; ) {
    const next = events.reduce((first, other) => (other.at < first.at ? other : first));
    clock.advance(Math.min(next.at, end) - clock.now());
    if (next.at >= end) return;
    await next.happen();
    next.at += next.everyMs;
  }
}

function figuresOf(bench: Bench, day: number): string {
  const count = (...tables: string[]) =>
    tables.reduce(
      (sum, table) => sum + Number(bench.sql(`SELECT count(*) AS rows FROM ${table}`)[0]?.['rows']),
      0,
    );
  const histories = bench.jobs.flatMap(({ name, history }) =>
    history ? `${name.replaceAll('-', '_')}_history` : [],
  );
  const rows = [count('walks'), count('requests'), count(...histories), count('usage'), count('quarantine')];
  return markdownRow([day, ...rows, megabytesOf(bench).toFixed(1)]);
}

const megabytesOf = ({ store }: Bench) => mirrorBytes(store.file) / 1e6;

/** Milliseconds of the processor, medians: what else the machine does adds little to them, and by turns to both alike. */
function timesOf(...work: (() => unknown)[]): number[] {
  const times = work.map((): number[] => []);
  for (let round = 0; round < 201; round += 1)
    work.forEach((does, at) => {
      const began = process.cpuUsage();
      does();
      const { user, system } = process.cpuUsage(began);
      times[at]?.push((user + system) / 1_000);
    });
  return times.map(median);
}

function judge(bench: Bench, [first = 0, last = 0]: number[], print: YearOptions['print']): void {
  const [ratio, size] = [last / first, megabytesOf(bench)];
  print(
    `\nstatus: ${first.toFixed(2)} ms of the processor after a day, ${last.toFixed(2)} ms now: ${ratio.toFixed(2)} times (at most ${MOST_STATUS_RATIO})`,
  );
  print(`the mirror takes ${size.toFixed(0)} MB (at most ${MOST_MB})`);
  const [damage] = bench.sql('PRAGMA integrity_check(1)');
  if (damage?.['integrity_check'] !== 'ok')
    throw new Error(`the mirror is damaged: ${JSON.stringify(damage)}`);
  if (size > MOST_MB) throw new Error('the mirror has outgrown its bound');
  if (ratio > MOST_STATUS_RATIO) throw new Error('status takes longer than it may');
}

/**
 * A day of a mirror once more: all that the day before has left, with later times, numbers and walks.
 * @param from when the day began that is repeated, in epoch milliseconds.
 * @param lived the job whose day is lived again instead.
 */
function repeatDay(bench: Bench, from: number, lived: string): void {
  const began = new Date(from).toISOString();
  const [walks] = bench.sql<{ first: number; count: number }>(
    `SELECT min(id) AS first, max(id) - min(id) + 1 AS count FROM walks
     WHERE id > coalesce((SELECT id FROM walks WHERE started_at < ? ORDER BY id DESC LIMIT 1), 0)`,
    began,
  );
  if (!walks?.count) throw new Error(`no walk since ${began}`);
  const { first, count } = walks;

  const later = (column: string) =>
    `CASE WHEN ${column} >= '${began}' THEN strftime('%Y-%m-%dT%H:%M:%fZ', ${column}, '+1 day') ELSE ${column} END`;
  const next = (column: string) =>
    `CASE WHEN ${column} >= ${first} THEN ${column} + ${count} ELSE ${column} END`;
  const copy = (table: string, changed: Record<string, string>, where: string) => {
    const columns = bench
      .sql<{ name: string; hidden: number }>(`SELECT name, hidden FROM pragma_table_xinfo('${table}')`)
      .filter(({ name, hidden }) => hidden === 0 && changed[name] !== '');
    const values = columns.map(({ name }) => changed[name] ?? `"${name}"`);
    return `INSERT INTO ${table} (${columns.map(({ name }) => `"${name}"`)}) SELECT ${values} FROM ${table} WHERE ${where};`;
  };
  const histories = bench.jobs.flatMap(({ name, history }) =>
    history && name !== lived ? `${name.replaceAll('-', '_')}_history_rows` : [],
  );

  bench.tamper(
    [
      'PRAGMA synchronous = off; BEGIN;',
      copy(
        'walks',
        {
          id: `id + ${count}`,
          started_at: later('started_at'),
          finished_at: later('finished_at'),
          renewal_of: next('renewal_of'),
          first_seq: `first_seq + ${DAY_MS}`,
          last_seq: `last_seq + ${DAY_MS}`,
        },
        `id >= ${first} AND job <> '${lived}'`,
      ),
      copy(
        'requests',
        { id: '', at: later('at'), walk_id: next('walk_id') },
        `at >= '${began}' AND job <> '${lived}'`,
      ),
      ...histories.map((history) =>
        copy(
          history,
          {
            _changed_at: later('_changed_at'),
            _valid_from: later('_valid_from'),
            _valid_to: later('_valid_to'),
            _walk_id: next('_walk_id'),
          },
          `_valid_to >= '${began}' ORDER BY rowid`,
        ),
      ),
      copy(
        'usage_rows',
        {
          _key: `${later('_fetched_at')} || ' ' || ${next('_walk_id')}`,
          _fetched_at: later('_fetched_at'),
          _first_seen_at: later('_first_seen_at'),
          _changed_at: later('_changed_at'),
          _walk_id: next('_walk_id'),
        },
        `_fetched_at >= '${began}'`,
      ),
      `UPDATE quarantine SET walk_id = ${next('walk_id')}, last_seen_at = ${later('last_seen_at')} WHERE job <> '${lived}';`,
      `UPDATE drift SET last_seen_at = ${later('last_seen_at')} WHERE job <> '${lived}';`,
      `UPDATE fields SET walk_id = ${next('walk_id')}, last_seen_at = ${later('last_seen_at')} WHERE job <> '${lived}';`,
      `UPDATE datasets SET last_seq = last_seq + ${DAY_MS}, calls_saved = calls_saved + (SELECT coalesce(sum(calls_saved), 0)
         FROM walks WHERE walks.job = datasets.job AND walks.id >= ${first + count}) WHERE job <> '${lived}';`,
      'COMMIT;',
    ].join('\n'),
  );
}
