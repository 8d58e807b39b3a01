/** The campaign's checks hold of a good mirror, and each of them finds what it is for. */

import { copyFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
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
      'that a version is empty',
      "UPDATE _ai_signals_history_rows SET _valid_to = _valid_from WHERE _ended_by = 'delete'",
      ['false'],
    ],
    [
      'that an update leaves a gap',
      "UPDATE _ai_signals_history_rows SET _valid_to = strftime('%Y-%m-%dT%H:%M:%fZ', _valid_from, '+0.001 seconds') WHERE _ended_by = 'update'",
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
    [
      'that two jobs share a number',
      'UPDATE _news_rows SET _changed_at = (SELECT max(_changed_at) FROM ai_signals)',
      ['false'],
    ],
    ['that the walk of a row is unknown', 'UPDATE _news_rows SET _walk_id = 99 WHERE number = 4', ['orphan']],
    [
      'that a row is held for no reason',
      "UPDATE _news_rows SET _held_since = '2026-11-21T00:00:00.000Z' WHERE number = 4",
      ['orphan'],
    ],
    [
      'that the pages of a walk that ended without a proof are kept',
      "UPDATE walks SET verdict = 'union', order_seq = NULL WHERE id = 2",
      ['orphan'],
    ],
    [
      'that a row has lost its volatile values',
      'DELETE FROM _ai_signals_volatile WHERE number = 4',
      ['lost', 'orphan'],
    ],
    [
      'that volatile values have outlived their row',
      "INSERT INTO _ai_signals_volatile VALUES (99999, 1, 'live')",
      ['orphan'],
    ],
    ['that a walk was left behind', 'UPDATE walks SET finished_at = NULL WHERE id = 1', ['orphan']],
    [
      'that a glance was left behind by a walk',
      "UPDATE walks SET finished_at = NULL, kind = 'glance' WHERE id = 1",
      ['orphan'],
    ],
  ])('%s', (_, tampering, found) => {
    expect(kinds(findIn(tampering, all))).toEqual(found);
  });

  test('that a row was removed that was never gone', () => {
    const tampering =
      "UPDATE _ai_signals_history_rows SET _ended_by = 'delete', _valid_to = _valid_from || 'x'";
    const found = findIn(tampering, (mirror) => checks.checkHistory(journal, jobs, mirror));
    expect(kinds(found)).toEqual(['false']);
  });

  test('that the consumer has another copy, or was told twice', () => {
    const shown = shownIn(bench);
    const copies = new Map(jobs.map(({ name }) => [name, new Map(shown(name))]));
    const told: string[] = [];
    const consumer = { copy: (job: string) => copies.get(job), contradictions: told } as unknown as Consumer;
    expect(checks.checkConsumer(consumer, jobs, shown)).toEqual([]);
    const [key = ''] = copies.get('news')?.keys() ?? [];
    copies.get('news')?.delete(key);
    copies.get(LIST)?.set('gone', 'form');
    told.push('twice');
    expect(kinds(checks.checkConsumer(consumer, jobs, shown))).toEqual(['false', 'lost', 'false']);
  });
});

describe('a row is shown too old', () => {
  const key = 'k';
  let journal: Journal;
  const version = (at: number, asset: string | null) =>
    journal.hear({ job: 'news', at, key, row: asset === null ? null : { id: key, asset } });
  const formWith = (asset: string) =>
    formOf(bench.job('news'), { _body: JSON.stringify({ id: key, asset }) });
  const isOld = (asset: string | null, until: number) =>
    journal
      .shownTooOld('news', asset === null ? new Map() : new Map([[key, formWith(asset)]]), until)
      .includes(key);

  beforeEach(() => {
    journal = createJournal(jobs);
    version(1_000, 'first');
    version(2_000, 'second');
  });

  test('where a version that came until then is not shown, nor a later one', () => {
    expect([isOld('first', 1_999), isOld('first', 2_000), isOld('second', 1_500)]).toEqual([
      false,
      true,
      false,
    ]);
    expect([isOld(null, 999), isOld(null, 1_000)]).toEqual([false, true]);
  });

  test('but not where it has gone since, for its removal takes two proofs', () => {
    version(3_000, null);
    expect([isOld('first', 2_500), isOld(null, 2_500)]).toEqual([false, false]);
  });
});
