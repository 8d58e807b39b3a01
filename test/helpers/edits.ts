/** Changes of a dataset upstream, between two pages of a walk. */

import { type Dataset, type Row, seededRandom, shuffled } from '../../model-api/index.ts';
import type { Bench } from './mirror-bench.ts';

export type Edit = (dataset: Dataset) => void;

/** Makes the edits just before these calls of the job are answered, counted from 1 for the next one. */
export function editBefore(bench: Bench, job: string, edits: Readonly<Record<number, Edit>>): void {
  const { path } = bench.job(job);
  const earlier = bench.model.callsTo(path).length;
  bench.model.beforeAnswer = (call) => {
    if (call.path === path) edits[bench.model.callsTo(path).length - earlier]?.(bench.upstream(job));
  };
}

export const insert =
  (at: number, count = 1): Edit =>
  (dataset) =>
    void dataset.rows.splice(at < 0 ? dataset.rows.length : at, 0, ...dataset.make(count));

export const remove =
  (at: number, count = 1): Edit =>
  ({ rows }) =>
    void rows.splice(at, count);

/** Moves the row at `from` to `to`, counted without it. */
export const move =
  (from: number, to: number): Edit =>
  ({ rows }) =>
    void rows.splice(to, 0, ...rows.splice(from, 1));

/** Moves the row at `at` to the head. */
export const bump = (at: number): Edit => move(at, 0);

export const change =
  (at: number, values: Row): Edit =>
  ({ rows }) =>
    void rows.splice(at, 1, { ...rows[at], ...values });

/** The order of rows turned round. */
export const turnRound: Edit = ({ rows }) => void rows.reverse();

/** Another order, always the same one. */
export const shuffle: Edit = (dataset) => {
  dataset.rows = shuffled(dataset.rows, seededRandom(1));
};

/** Other rows altogether. */
export const replaceAll: Edit = (dataset) => {
  dataset.rows = dataset.make(dataset.rows.length);
};

export const publish =
  (generatedAt: string | null | undefined): Edit =>
  (dataset) => {
    dataset.generatedAt = generatedAt;
  };

export const both =
  (...edits: Edit[]): Edit =>
  (dataset) => {
    for (const edit of edits) edit(dataset);
  };
