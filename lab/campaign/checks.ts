/** What must hold of the mirror, its history and its consumer after two proofs without an edit, and what may be left at the end. */

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Job } from '../../src/job.ts';
import { differences } from '../../test/helpers/truth.ts';
import type { Consumer } from './consumer.ts';
import { processesIn } from './world/processes.ts';
import { type Forms, formOf, type Journal } from './world/upstream.ts';
import { tableOf, type World } from './world.ts';

/** `lost`: upstream, but not in the mirror. `false`: in the mirror or reported, but wrong. `orphan`: left, but nothing refers to it. */
export type Finding = { kind: 'lost' | 'false' | 'orphan'; what: string };

/** A database as the checks read it. */
export type Readable = Pick<World, 'sql'>;

export function checkTables(
  journal: Journal,
  jobs: readonly Job[],
  shown: (job: string) => Forms,
): Finding[] {
  return jobs.flatMap(({ name }) => compare(`the table of ${name}`, journal.now(name), shown(name)));
}

export function checkConsumer(consumer: Consumer, jobs: readonly Job[]): Finding[] {
  return [
    ...jobs.flatMap((job) =>
      compare(`the client's copy of ${job.name}`, consumer.expected(job), consumer.copy(job.name)),
    ),
    ...consumer.contradictions.splice(0).map((what) => ({ kind: 'false' as const, what })),
  ];
}

function compare(where: string, truth: Forms, found: Forms): Finding[] {
  const { lost, false: invented } = differences(truth, found);
  return [
    ...lost.map((key) => ({ kind: 'lost' as const, what: `${where} has not ${key} as it is` })),
    ...invented.map((key) => ({ kind: 'false' as const, what: `${where} has ${key}, which is gone` })),
  ];
}

/** Every version that is or was shown was upstream once, and none was removed that was never gone. */
export function checkHistory(journal: Journal, jobs: readonly Job[], { sql }: Readable): Finding[] {
  return jobs.flatMap((job) =>
    sql<Record<string, unknown>>(`SELECT * FROM "${tableOf(job.name)}_history"`).flatMap((row) => {
      const { _key: key, _ended_by: by, _valid_from: from, _valid_to: to, ...columns } = row;
      const name = `${job.name} ${key} from ${from} to ${to}`;
      const found: string[] = [];
      if (!journal.wasEver(job.name, String(key), formOf(job, columns)))
        found.push(`${name} was never upstream`);
      if (by === 'delete' && !journal.wasRemoved(job.name, String(key)))
        found.push(`${name} was removed, but never gone`);
      return found.map((what) => ({ kind: 'false' as const, what }));
    }),
  );
}

/** Versions of a row follow one another: none is empty or overlaps, and an update leaves no gap. */
export function checkIntervals(jobs: readonly Job[], { sql }: Readable): Finding[] {
  return jobs.flatMap(({ name }) => {
    const table = tableOf(name);
    return sql<{ key: string; from: string; fault: string }>(
      `WITH versions AS (
         SELECT _key, _valid_from AS "from", _valid_to AS "to", _ended_by FROM "${table}_history"
         UNION ALL SELECT _key, _changed_at, NULL, NULL FROM "${table}"
       ), following AS (
         SELECT *, lead("from") OVER (PARTITION BY _key ORDER BY "from", "to" IS NULL) AS next FROM versions
       ), faulty AS (
         SELECT _key AS key, "from", CASE
           WHEN "to" <= "from" THEN 'is empty or inverted'
           WHEN "to" IS NULL AND next IS NOT NULL THEN 'stands although it was superseded'
           WHEN next < "to" THEN 'overlaps the next'
           WHEN _ended_by = 'update' AND next IS NOT "to" THEN 'leaves a gap'
         END AS fault FROM following
       )
       SELECT * FROM faulty WHERE fault IS NOT NULL LIMIT 20`,
    ).map(({ key, from, fault }) => ({
      kind: 'false',
      what: `${name}: the version of ${key} from ${from} ${fault}`,
    }));
  });
}

/** The changes of a job's walks are numbered one walk after the other, so are those of its glances, and no two jobs share a number. */
export function checkSequence(jobs: readonly Job[], { sql }: Readable): Finding[] {
  const overlaps = sql<{ id: number }>(
    `SELECT id FROM (
       SELECT id, first_seq, max(last_seq) OVER (PARTITION BY job, kind ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
       FROM walks WHERE first_seq IS NOT NULL
     ) WHERE first_seq <= before`,
  ).map(({ id }) => `the changes of walk ${id} are numbered below those of an earlier one`);
  const numbers = jobs.map(
    ({ name }) =>
      `SELECT '${name}' AS job, _changed_at AS at FROM "${tableOf(name)}"
       UNION SELECT '${name}', _valid_from FROM "${tableOf(name)}_history"`,
  );
  const shared = sql<{ at: string }>(
    `SELECT at FROM (${numbers.join(' UNION ALL ')}) GROUP BY at HAVING count(DISTINCT job) > 1`,
  ).map(({ at }) => `two jobs changed rows under the number of ${at}`);
  return [...overlaps, ...shared].map((what) => ({ kind: 'false', what }));
}

/** Nothing that the mirror keeps about itself outlives what it is about. */
export function checkOrphans(jobs: readonly Job[], { sql }: Readable): Finding[] {
  const rows = jobs.flatMap(({ name }) => {
    const table = tableOf(name);
    return ['', '_history'].map((suffix): [string, string] => [
      `rows of ${table}${suffix} whose walk is unknown`,
      `SELECT count(*) AS rows FROM "${table}${suffix}" WHERE _walk_id NOT IN (SELECT id FROM walks)`,
    ]);
  });
  const held = jobs.map(({ name }): [string, string] => [
    `rows of ${name} that are held without a reason or a time`,
    `SELECT count(*) AS rows FROM "${tableOf(name)}" WHERE (_held_since IS NULL) <> (_held_reason IS NULL)`,
  ]);
  const apart = jobs.flatMap((job): [string, string][] => {
    const volatile = job.volatileTable;
    if (volatile === null) return [];
    const lacks = (one: string, number: string, other: string, others: string) =>
      `SELECT count(*) AS rows FROM "${one}" WHERE ${number} NOT IN (SELECT ${others} FROM "${other}")`;
    return [
      [
        `volatile values of rows that ${job.name} does not have`,
        lacks(volatile, 'number', job.rows, 'number'),
      ],
      [`rows of ${job.name} without volatile values`, lacks(job.rows, 'number', volatile, 'number')],
    ];
  });
  const ofWalks = ['quarantine', 'drift'].map((table): [string, string] => [
    `${table} of walks that are unknown`,
    `SELECT count(*) AS rows FROM ${table} WHERE walk_id NOT IN (SELECT id FROM walks)`,
  ]);
  const queries: [string, string][] = [
    ...rows,
    ...held,
    ...apart,
    ...ofWalks,
    [
      'pages of walks that are unknown',
      'SELECT count(*) AS rows FROM _walk_pages WHERE id >> 20 NOT IN (SELECT id FROM walks)',
    ],
    [
      'pages of walks that have ended without a proof',
      `SELECT count(*) AS rows FROM _walk_pages JOIN walks ON walks.id = _walk_pages.id >> 20
         WHERE kind = 'walk' AND finished_at IS NOT NULL AND order_seq IS NULL`,
    ],
    [
      'walks and glances that no run will end, since a later one has begun',
      // A glance leaves an unfinished walk alone; a walk ends whatever is unfinished.
      `SELECT count(*) AS rows FROM walks WHERE finished_at IS NULL AND EXISTS (
         SELECT 1 FROM walks AS later
         WHERE later.job = walks.job AND later.id > walks.id AND (later.kind = 'walk' OR walks.kind = 'glance'))`,
    ],
  ];
  return queries.flatMap(([what, query]) => {
    const [found] = sql<{ rows: number }>(query);
    return found?.rows ? [{ kind: 'orphan' as const, what: `${found.rows} ${what}` }] : [];
  });
}

export function checkIntegrity({ sql }: Readable): Finding[] {
  return sql<{ integrity_check: string }>('PRAGMA integrity_check')
    .map((row) => row.integrity_check)
    .filter((line) => line !== 'ok')
    .map((what) => ({ kind: 'lost', what: `SQLite finds the database damaged: ${what}` }));
}

/** The files in the mirror's folder after the daemon has ended. */
const belongs =
  /^(mirror\.(db|id)|serve\.db(-wal|-shm)?|queue\.json|locks(\/.*)?|redis(\/appendonlydir(\/.*)?)?)$/;
/** Made by the attacks. */
const ours = /^(clock|external-redis.*)$/;
const UNTIL_GONE_MS = 5_000;

/** @param world whose programs have been ended. */
export async function checkLeftovers(world: World): Promise<Finding[]> {
  const orphan = (what: string): Finding => ({ kind: 'orphan', what });
  const files = filesBelow(world.mirrorDir).filter((name) => !belongs.test(name));
  const temporary = filesBelow(world.scratch).filter(
    (name) => !ours.test(name) && !isUnlinkedLate(join(world.scratch, name)),
  );
  return [
    ...(await processesLeft(world)).map((name) => orphan(`the process ${name} is left`)),
    ...[...files, ...temporary].map((name) => orphan(`the file ${name} is left`)),
    ...readdirSync(world.work).map((name) => orphan(`the file ${name} is left in the working folder`)),
    ...filesWith(world).map((what): Finding => ({ kind: 'false', what: `the key lies in ${what}` })),
  ];
}

/** SQLite opens a temporary file and then removes its name: a kill in between leaves an empty one. */
const isUnlinkedLate = (file: string) => /\/etilqs_[^/]*$/.test(file) && statSync(file).size === 0;

/** Those of a killed daemon end with it, but not in the same moment. */
async function processesLeft({ folder }: World): Promise<string[]> {
  const left = () => processesIn(folder).map(({ name, pid }) => `${name} (${pid})`);
  for (let waited = 0; waited < UNTIL_GONE_MS && left().length > 0; waited += 100)
    await new Promise((resolve) => setTimeout(resolve, 100));
  return left();
}

function filesWith({ folder, key }: World): string[] {
  return filesBelow(folder).filter((name) => readFileSync(join(folder, name)).includes(key));
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    statSync(join(folder, name)).isFile(),
  );
}
