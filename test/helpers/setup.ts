/** A fresh bench for each test, closed when the test ends. */

import { onTestFinished } from 'vitest';
import { type Bench, type BenchOptions, openBench } from './mirror-bench.ts';

export async function setup(options?: BenchOptions): Promise<Bench> {
  const bench = await openBench(options);
  onTestFinished(() => bench.close());
  return bench;
}
