/** A mirror with a past: rows that came, changed and went, one that was refused, and a walk that failed. */

import { faults, when } from '../../model-api/index.ts';
import { HOUR_MS, isoTime } from '../../src/base/clock.ts';
import { cached } from '../helpers/cached.ts';
import { openSight, type Sight } from './support.ts';

export type Lived = Sight & {
  /** When all was as at first. */
  before: string;
  changed: string;
  removed: string;
  added: string;
};

/** One a worker, for tests that change nothing of it. It ends with the worker. */
export const sharedLived = cached(() => openLived()) as () => Promise<Lived>;

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
  bench.clock.advance(60_000);
  return {
    ...sight,
    before,
    changed: String(changedRow['id']),
    removed: String(removedRow['id']),
    added: String(added['id']),
  };
}
