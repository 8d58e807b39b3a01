/** What upstream shows and what the mirror holds of it, in one form. */

import assert from 'node:assert';
import { isDeepStrictEqual } from 'node:util';
import type { Row } from '../../model-api/index.ts';
import type { Job } from '../../src/job.ts';
import type { Bench } from './mirror-bench.ts';

type Rows = Map<string, Record<string, unknown>>;

/** A row as it stands upstream, in the columns of its table. */
export function upstreamForm({ contract }: Job, row: Row): Record<string, unknown> {
  return contract ? { ...contract.columns(row), extra: null } : { _body: JSON.stringify(row) };
}

/** A row as the mirror holds it, without what the mirror adds to it. */
export function mirroredForm({ contract }: Job, row: Record<string, unknown>): Record<string, unknown> {
  if (!contract) return { _body: row['_body'] };
  return Object.fromEntries(Object.entries(row).filter(([column]) => !column.startsWith('_')));
}

/** Where two sets of rows by key differ: `lost` are upstream and not mirrored as they stand there, `false` only mirrored. */
export function differences<Form>(
  upstream: ReadonlyMap<string, Form>,
  mirrored: ReadonlyMap<string, Form>,
): { lost: string[]; false: string[] } {
  return {
    lost: [...upstream].filter(([key, form]) => mirrored.get(key) !== form).map(([key]) => key),
    false: [...mirrored.keys()].filter((key) => !upstream.has(key)),
  };
}

/** The rows of a job's dataset as they stand upstream, by key, in the columns of their table. */
export function upstreamRows(bench: Bench, name: string): Rows {
  const { rows, idField } = bench.upstream(name);
  return new Map(rows.map((row) => [String(row[idField]), upstreamColumns(bench, name, row)]));
}

export function upstreamColumns(bench: Bench, name: string, row: Row): Record<string, unknown> {
  return upstreamForm(bench.job(name), row);
}

/** The rows that the mirror holds of it, without what the mirror adds to them. */
export function mirroredRows(bench: Bench, name: string): Rows {
  return new Map(
    [...bench.table(name.replaceAll('-', '_'))].map(([key, row]) => [
      key,
      mirroredForm(bench.job(name), row),
    ]),
  );
}

/** Keys that are upstream and not in the mirror. */
export function missingKeys(bench: Bench, name: string): string[] {
  const mirrored = mirroredRows(bench, name);
  return [...upstreamRows(bench, name).keys()].filter((key) => !mirrored.has(key));
}

/** Walks while nothing changes, four times at most, until the mirror shows what is upstream; each walk is a proof. */
export async function expectConvergence(bench: Bench, name: string): Promise<void> {
  bench.model.beforeAnswer = undefined;
  bench.model.faults = [];
  let mirrored = mirroredRows(bench, name);
  for (
    let walks = 0;
    walks === 0 || (walks < 4 && !isDeepStrictEqual(mirrored, upstreamRows(bench, name)));
    walks += 1
  ) {
    const { verdict } = await bench.mirror(name);
    if (verdict === 'union') throw new Error(`a walk of ${name} proves nothing though nothing changes`);
    mirrored = mirroredRows(bench, name);
  }
  assert.deepStrictEqual(mirrored, upstreamRows(bench, name));
}
