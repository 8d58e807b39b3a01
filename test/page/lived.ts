/** A mirror with a past: rows that came, changed and went, some that are held, one that was refused, drift, reports, and a walk that failed. */

import { faults, when } from '../../model-api/index.ts';
import { HOUR_MS, isoTime } from '../../src/base/clock.ts';
import { cached } from '../helpers/cached.ts';
import { openSight, type Sight } from './support.ts';

export const HELD = 7;
export const HOSTILE = '<img src=x onerror=alert(1)>';
export const REPORT =
  '-- run: every 1h\n-- to: a.csv\nSELECT quality_grade AS grade, count(*) AS n FROM ai_signals GROUP BY 1';

export type Lived = Sight & {
  /** When all was as at first. */
  before: string;
  changed: string;
  removed: string;
  added: string;
};

/** One a worker, for tests that change nothing of it. It ends with the worker. */
export const sharedLived = cached(openLived);

/** For tests that change it. Close it when done. */
export async function openLived(): Promise<Lived> {
  const sight = await openSight({ rows: 130, quota: { limit: 1_000, periodMs: HOUR_MS } });
  const { bench } = sight;
  const { aiSignals } = bench.model.data;
  bench.model.beforeAnswer = () => bench.clock.advance(40);
  bench.clock.advance(HOUR_MS);
  const before = isoTime(bench.clock.now());
  bench.clock.advance(HOUR_MS);

  const [changedRow, removedRow] = [aiSignals.rows[3], aiSignals.rows[7]];
  const [added] = aiSignals.make(1);
  if (!changedRow || !removedRow || !added) throw new Error('the model has too few rows');
  aiSignals.rows[3] = { ...changedRow, confidence: 0.123, status: 'closed' };
  aiSignals.rows.splice(7, 1);
  aiSignals.rows.unshift(added);
  // A row is removed once two proofs in a row lack it.
  for (let proof = 0; proof < 2; proof += 1) {
    bench.clock.advance(60_000);
    aiSignals.generatedAt = isoTime(bench.clock.now());
    if (proof === 1)
      bench.model.faults.push(
        when(
          { endpoint: 'aiSignals', nth: 1 },
          faults.editRow((row) => ({ ...row, confidence: 'high' }), 9),
        ),
      );
    await bench.mirror('ai-signals');
  }
  bench.model.faults.push(when({ endpoint: 'news' }, faults.refuse(503)));
  await bench.mirror('news').catch(() => undefined);
  bench.model.faults.length = 0;
  for (const job of ['smart-wallets', 'meme-signals', 'usage']) await bench.mirror(job);
  const now = isoTime(bench.clock.now());
  bench.tamper(`
    UPDATE _smart_wallets_rows SET _held_since = '${now}', _held_reason = 'unproven' WHERE number <= ${HELD};
    INSERT INTO drift (job, kind, path, detail, first_seen_at, last_seen_at, times, request_id, walk_id)
      SELECT 'news', '${HOSTILE}', '${HOSTILE}', '${HOSTILE}', '${now}', '${now}', 1, '${HOSTILE}', id FROM walks LIMIT 1;
    INSERT INTO _reports (name, title, sql, ran_at, duration_ms, "rows", new_rows, error, error_kind) VALUES
      ('good', 'Grades', '${REPORT}', '${now}', 2000, 4, 4, NULL, NULL),
      ('wrong', 'Wrong', 'SELECT no', '${now}', 1, NULL, NULL, 'wrong.sql:1: no such column: no', 'config');`);
  bench.clock.advance(60_000);
  return {
    ...sight,
    before,
    changed: String(changedRow['id']),
    removed: String(removedRow['id']),
    added: String(added['id']),
  };
}
