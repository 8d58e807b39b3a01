import { describe, expect, it } from 'vitest';
import { viewsOf } from '../../src/store/views.ts';
import type { Bench } from '../helpers/mirror-bench.ts';
import { setup } from '../helpers/setup.ts';
import { publish } from './support.ts';

type Change = { seq: number; at: string; job: string; key: string; change: string; walk_id: number };

const jobs = ['ai-signals', 'news', 'smart-wallets', 'meme-signals', 'usage'];

const changesAfter = (bench: Bench, seq: number) =>
  bench.sql<Change>('SELECT * FROM changes WHERE seq > ? ORDER BY seq, job, change DESC, key', seq);

it('every view has an example that runs and finds something', async () => {
  const bench = await setup({ rows: 30 });
  for (const job of jobs) await bench.mirror(job);
  Object.assign(bench.upstream('ai-signals').rows[0] ?? {}, { status: 'closed' });
  publish(bench);
  await bench.mirror('ai-signals');
  for (const { name, example } of viewsOf(bench.jobs)) {
    // Its age is counted by the clock of this machine, not by the bench's.
    const rows = bench.sql(example.replace('age_seconds < 600', 'true'));
    expect(rows, name).not.toEqual([]);
  }
});

describe('changes', () => {
  it('tell every row that came, changed and went, once, with the walk that found it', async () => {
    const bench = await setup({ rows: 5 });
    const signals = bench.upstream('ai-signals');
    const ids = signals.rows.map(({ id }) => String(id));
    await bench.mirror('ai-signals');
    expect(changesAfter(bench, 0).map(({ key, change, walk_id }) => [key, change, walk_id])).toEqual(
      [...ids].sort().map((id) => [id, 'insert', 1]),
    );

    const cursor = Math.max(...changesAfter(bench, 0).map(({ seq }) => seq));
    Object.assign(signals.rows[0] ?? {}, { status: 'closed' });
    const [gone] = signals.rows.splice(2, 1);
    publish(bench);
    await bench.mirror('ai-signals');
    signals.rows.push(gone ?? {});
    publish(bench);
    await bench.mirror('ai-signals');
    expect(changesAfter(bench, cursor).map(({ key, change, walk_id }) => [key, change, walk_id])).toEqual([
      [ids[0], 'update', 2],
      [ids[2], 'delete', 2],
      [ids[2], 'insert', 3],
    ]);
  });

  it('of one commit share a number that is its time, and the numbers of their walk are the first and last of them', async () => {
    const bench = await setup({ rows: 150 });
    const began = bench.clock.now();
    await Promise.all(['news', 'smart-wallets'].map((job) => bench.mirror(job)));
    const commits = bench.sql<{ seq: number; at: string; rows: number; jobs: number }>(
      'SELECT seq, at, count(*) AS rows, count(DISTINCT job) AS jobs FROM changes GROUP BY seq',
    );
    // Two pages of each, no two of which share a number, though the clock stands still.
    expect(commits.map(({ jobs, rows }) => [jobs, rows]).sort()).toEqual([
      [1, 100],
      [1, 100],
      [1, 50],
      [1, 50],
    ]);
    expect(commits[0]).toMatchObject({ seq: began, at: '2026-11-21T12:00:00.000Z' });
    for (const { id, first_seq, last_seq } of bench.sql<Record<string, number>>('SELECT * FROM walks'))
      expect(
        bench.sql(
          'SELECT min(seq) AS first_seq, max(seq) AS last_seq FROM changes WHERE walk_id = ?',
          id ?? 0,
        ),
      ).toEqual([{ first_seq, last_seq }]);
    await bench.mirror('news');
    expect(bench.sql('SELECT first_seq, last_seq FROM walks WHERE id = 3'), 'a walk without changes').toEqual(
      [{ first_seq: null, last_seq: null }],
    );
  });
});

describe("a signal's", () => {
  it('reason codes and checks are rows, in their order', async () => {
    const bench = await setup({ rows: 2 });
    const [first, second] = bench.upstream('ai-signals').rows;
    Object.assign(first ?? {}, {
      id: 'a',
      validator: { allowed: true, score: 1, reasonCodes: ['Z', 'A'], finalAction: null },
    });
    Object.assign(second ?? {}, {
      id: 'b',
      validator: { allowed: null, score: 1, reasonCodes: [], finalAction: null },
    });
    await bench.mirror('ai-signals');
    expect(bench.sql('SELECT id, position, reason_code FROM ai_signal_reason_codes')).toEqual([
      { id: 'a', position: 0, reason_code: 'Z' },
      { id: 'a', position: 1, reason_code: 'A' },
    ]);
    expect(bench.sql(`SELECT check_name FROM ai_signal_checks WHERE id = 'a' ORDER BY position`)).toEqual(
      Object(first?.['quality']).checks.map((check_name: string) => ({ check_name })),
    );
  });

  it('life is one row a version, with what it was before', async () => {
    const bench = await setup({ rows: 3 });
    const signals = bench.upstream('ai-signals');
    const signal = signals.rows[1] ?? {};
    const id = String(signal['id']);
    for (const status of ['active', 'closed', 'expired']) {
      signal['status'] = status;
      publish(bench);
      await bench.mirror('ai-signals');
    }
    signals.rows.splice(1, 1);
    for (let walk = 0; walk < 2; walk += 1) {
      publish(bench);
      await bench.mirror('ai-signals');
    }
    const life = bench.sql(
      'SELECT version, previous_status, status, ended_by FROM ai_signal_changes WHERE id = ? ORDER BY version',
      id,
    );
    expect(life).toEqual([
      { version: 1, previous_status: null, status: 'active', ended_by: 'update' },
      { version: 2, previous_status: 'active', status: 'closed', ended_by: 'update' },
      { version: 3, previous_status: 'closed', status: 'expired', ended_by: 'delete' },
    ]);
    const [other] = bench.sql('SELECT valid_to, ended_by FROM ai_signal_changes WHERE id <> ? LIMIT 1', id);
    expect(other).toEqual({ valid_to: null, ended_by: null });
  });
});
