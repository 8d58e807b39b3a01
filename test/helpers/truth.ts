/** What upstream shows and what the mirror holds of it, in one form. */

import type { Row } from '../../src/model-api/index.ts';
import type { Bench } from './mirror-bench.ts';

type Rows = Map<string, Record<string, unknown>>;

/** The rows of a job's dataset as they stand upstream, by key, in the columns of their table. */
export function upstreamRows(bench: Bench, name: string): Rows {
  const { rows, idField } = bench.upstream(name);
  return new Map(rows.map((row) => [String(row[idField]), upstreamColumns(bench, name, row)]));
}

export function upstreamColumns(bench: Bench, name: string, row: Row): Record<string, unknown> {
  const { contract } = bench.job(name);
  return contract ? { ...contract.columns(row), extra: null } : { _body: JSON.stringify(row) };
}

/** The rows that the mirror holds of it, without what the mirror adds to them. */
export function mirroredRows(bench: Bench, name: string): Rows {
  const { contract } = bench.job(name);
  return new Map(
    [...bench.table(name.replaceAll('-', '_'))].map(([key, row]) => [
      key,
      contract
        ? Object.fromEntries(Object.entries(row).filter(([column]) => !column.startsWith('_')))
        : { _body: row['_body'] },
    ]),
  );
}

/** Keys that are upstream and not in the mirror. */
export function missingKeys(bench: Bench, name: string): string[] {
  const mirrored = mirroredRows(bench, name);
  return [...upstreamRows(bench, name).keys()].filter((key) => !mirrored.has(key));
}
