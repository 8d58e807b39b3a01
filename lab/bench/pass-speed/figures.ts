/** Figures of passes as rows of one table: medians, ratios to the bare loop of the same run, targets. */

import { median } from '../../figures.ts';
import type { Pass } from '../../passes.ts';
import { atLeast, atMost, targetHeads } from '../serve/table.ts';

/** One run of the bare loop beside one of what is measured. */
export type Run = { bare: Pass; other: Pass };

export const heads = [
  ...['', 'bare loop s', 's', 'ratio', ...targetHeads],
  ...['bare MB', 'MB', 'bytes a row', 'stall ms', 'peak MB'],
];

/** Under the heads, in Markdown. */
export const rule = heads.map((_, at) => (at === 0 ? '---' : '--:'));

const LONGEST_STALL_MS = 25;

/** @param least the target of the ratio, if there is one. */
export function speedRow(name: string, runs: readonly Run[], least?: number): string[] {
  const of = (side: keyof Run, figure: (pass: Pass) => number | null) =>
    median(runs.map((run) => figure(run[side]) ?? Number.NaN));
  const seconds = (pass: Pass) => pass.seconds;
  const written = ({ writtenBytes }: Pass) => writtenBytes / 1e6;
  const ratio = median(runs.map(({ bare, other }) => other.rowsPerSecond / bare.rowsPerSecond));
  return [
    name,
    of('bare', seconds).toFixed(2),
    of('other', seconds).toFixed(2),
    ratio.toFixed(2),
    ...(least === undefined ? ['', ''] : atLeast(ratio, least)),
    shown(of('bare', written)),
    shown(of('other', written)),
    shown(bytesARow(runs)),
    shown(longestStall(runs)),
    shown(of('other', ({ peakMb }) => peakMb)),
  ];
}

export const bytesARow = (runs: readonly Run[]) =>
  median(runs.map(({ other }) => other.writtenBytes / other.rows));

export const longestStall = (runs: readonly Run[]) =>
  median(runs.map(({ other }) => other.longestStallMs ?? Number.NaN));

/** One figure with its target, in the column of ratios. */
export function figureRow(name: string, figure: number, most: number, digits = 0): string[] {
  return [name, '', '', figure.toFixed(digits), ...atMost(figure, most), '', '', '', '', ''];
}

export const stallRow = (stallMs: number) =>
  figureRow('longest stall of the event loop in ms, of these', stallMs, LONGEST_STALL_MS);

const shown = (figure: number) => (Number.isFinite(figure) ? figure.toFixed(0) : '');
