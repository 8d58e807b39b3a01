/** The campaign's checks hold of a good mirror, and each of them finds what it is for. */

import { copyFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as checks from '../../lab/campaign/checks.ts';
import type { Consumer } from '../../lab/campaign/consumer.ts';
import { createJournal, type Forms, formOf, type Journal } from '../../lab/campaign/world/upstream.ts';
import type { Job } from '../../src/job.ts';
import { copyDatabase } from '../../src/store/read.ts';
import { Database } from '../../src/store/sqlite.ts';
import { type Bench, openBench } from '../helpers/mirror-bench.ts';

const LIST = 'ai-signals';

let bench: Bench;
let journal: Journal;
let jobs: Job[];
let copy: string;

const shownIn = ({ sql }: checks.Readable) => {
  const shown = (name: string): Forms =>
    new Map(
      sql<Record<string, unknown>>(`SELECT * FROM ${name.replaceAll('-', '_')}`).map((row) => [
        String(row['_key']),
        formOf(bench.job(name), row),
      ]),
    );
  return shown;
};
const kinds = (findings: checks.Finding[]) => findings.map(({ kind }) => kind);

/** A mirror of two lists, of which one row changed and another went since the first walk. */
beforeAll(async () => {
  bench = await openBench({ rows: 20 });
  jobs = [bench.job(LIST), bench.job('news')];
  journal = createJournal(jobs);
  for (const { name } of jobs) {
    tell(name);
    await bench.mirror(name);
  }
  const { rows, idField } = bench.upstream(LIST);
  rows[3] = { ...rows[3], asset: 'changed' };
  journal.hear({ job: LIST, at: bench.clock.now(), key: String(rows[5]?.[idField]), row: null });
  rows.splice(5, 1);
  publishAll();
  tell(LIST);
  for (let walk = 0; walk < 2; walk += 1) await bench.mirror(LIST);
  copy = join(bench.dir, 'copy.db');
  writeFileSync(copy, '');
  await copyDatabase(bench.store.file, copy, new AbortController().signal);
});
afterAll(() => bench.close());

/** What is found in a copy of it, changed by these statements. */
function findIn<Found>(statements: string, check: (mirror: checks.Readable) => Found): Found {
  const file = join(bench.dir, 'tampered.db');
  copyFileSync(copy, file);
  const database = new Database(file);
  try {
    // Not by the triggers, which would keep the old value in the history.
    database.exec(`DROP TRIGGER ai_signals_superseded; ${statements};`);
    return check({ sql: (query, ...values) => database.prepare(query).all(...values) as never });
  } finally {
    database.close();
    rmSync(file);
  }
}

function publishAll(): void {
  bench.upstream(LIST).generatedAt = new Date(bench.clock.now()).toISOString();
}

function tell(name: string): void {
  const { rows, idField } = bench.upstream(name);
  for (const row of rows) journal.hear({ job: name, at: bench.clock.now(), key: String(row[idField]), row });
}

function all(mirror: checks.Readable): checks.Finding[] {
  return [
    ...checks.checkTables(journal, jobs, shownIn(mirror)),
    ...checks.checkHistory(journal, jobs, mirror),
    ...checks.checkIntervals(jobs, mirror),
    ...checks.checkSequence(jobs, mirror),
    ...checks.checkOrphans(jobs, mirror),
    ...checks.checkIntegrity(mirror),
  ];
}

test('a good mirror passes every check', () => {
  expect(bench.sql('SELECT 1 FROM ai_signals_history')).toHaveLength(2);
  expect(findIn('', all)).toEqual([]);
});

test('a glance beside a walk that is not over is well', () => {
  const beside = `UPDATE walks SET finished_at = NULL, status = 'waiting', first_seq = 1e15, last_seq = 1e15
      WHERE id = (SELECT max(id) FROM walks WHERE job = '${LIST}');
    INSERT INTO walks (job, kind, status, started_at, finished_at, first_seq, last_seq)
      VALUES ('${LIST}', 'glance', 'complete', '2026-11-21', '2026-11-21', 1e15 - 1, 1e15 - 1)`;
  expect(findIn(beside, all)).toEqual([]);
});

describe('it is found', () => {
  test.each([
    ['that a row is lacking', 'DELETE FROM _news_rows WHERE number = 4', ['lost', 'false', 'false']],
    ['that a value is another', "UPDATE _ai_signals_rows SET asset = 'other' WHERE number = 4", ['lost']],
    [
      'that a version overlaps the next',
      "UPDATE _ai_signals_history_rows SET _valid_to = '2999-01-01T00:00:00.000Z' WHERE _ended_by = 'update'",
      ['false'],
    ],
    [
      'that a version was never upstream',
      "UPDATE _ai_signals_history_rows SET asset = 'invented'",
      ['false', 'false'],
    ],
    [
      'that two walks share numbers',
      'UPDATE walks SET first_seq = 1 WHERE id = (SELECT max(id) FROM walks WHERE first_seq IS NOT NULL)',
      ['false'],
    ],
    ['that the walk of a row is unknown', 'UPDATE _news_rows SET _walk_id = 99 WHERE number = 4', ['orphan']],
    [
      'that a row is held for no reason',
      "UPDATE _news_rows SET _held_since = '2026-11-21T00:00:00.000Z' WHERE number = 4",
      ['orphan'],
    ],
    [
      'that a row has lost its volatile values',
      'DELETE FROM _ai_signals_volatile WHERE number = 4',
      ['lost', 'orphan'],
    ],
    ['that a walk was left behind', 'UPDATE walks SET finished_at = NULL WHERE id = 1', ['orphan']],
  ])('%s', (_, tampering, found) => {
    expect(kinds(findIn(tampering, all))).toEqual(found);
  });

  test('that the client has another copy, or was told twice', () => {
    const shown = shownIn(bench);
    const copies = new Map(jobs.map(({ name }) => [name, new Map(shown(name))]));
    const told: string[] = [];
    const consumer = {
      ...{ copy: (job: string) => copies.get(job), expected: ({ name }: Job) => shown(name) },
      contradictions: told,
    } as unknown as Consumer;
    expect(checks.checkConsumer(consumer, jobs)).toEqual([]);
    const [key = ''] = copies.get('news')?.keys() ?? [];
    copies.get('news')?.delete(key);
    copies.get(LIST)?.set('gone', 'form');
    told.push('twice');
    expect(kinds(checks.checkConsumer(consumer, jobs))).toEqual(['false', 'lost', 'false']);
  });
});
