/** A mirror of five signals, some of which break the contract, and the contract once it is mended. */

import { z } from 'zod';
import type { Job } from '../../src/job.ts';
import { change } from '../helpers/edits.ts';
import type { Bench } from '../helpers/mirror-bench.ts';
import { setup } from '../helpers/setup.ts';

const job = 'ai-signals';

/** The contract as it is once mended: confidence may be a word too. */
export function mended(bench: Bench): Job {
  const { contract, ...rest } = bench.job(job);
  if (!contract) throw new Error(`${job} has no contract`);
  const row = (contract.row as z.ZodObject).extend({ confidence: z.union([z.number(), z.string()]) });
  return { ...rest, contract: { ...contract, row } };
}

export const quarantined = (bench: Bench) =>
  bench.sql('SELECT key, times, resolved_at IS NOT NULL AS resolved FROM quarantine ORDER BY id');

/** @param places of the rows that break the contract. */
export async function setupRefusing(...places: number[]) {
  const bench = await setup({ rows: 5 });
  for (const place of places) change(place, { confidence: 'high' })(bench.upstream(job));
  const keys = places.map((place) => String(bench.upstream(job).rows[place]?.['id']));
  const walk = await bench.mirror(job);
  return { bench, keys, walk };
}
