import { statSync } from 'node:fs';
import { expect, it } from 'vitest';
import { publish } from '../helpers/edits.ts';
import { setup } from '../helpers/setup.ts';

const ROWS = 6_000;

it.each(['news', 'ai-signals'])(
  'an unchanged pass over %s adds at most 24 bytes a row to the write-ahead log',
  async (job) => {
    const bench = await setup({ rows: ROWS, ample: true });
    await bench.mirror(job);
    if (job === 'ai-signals') publish('2026-01-02T03:04:05Z')(bench.upstream(job));
    bench.tamper('PRAGMA wal_checkpoint(TRUNCATE)');
    expect(await bench.mirror(job)).toMatchObject({ rows: ROWS, inserted: 0, updated: 0, renewalOf: null });
    expect(statSync(`${bench.store.file}-wal`).size / ROWS).toBeLessThanOrEqual(24);
  },
);
