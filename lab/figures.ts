/** Figures as they are shown. */

/** The upper one of the two in the middle, where there are two. */
export function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[values.length >> 1] ?? Number.NaN;
}

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

export function mean(values: readonly number[]): number {
  return sum(values) / values.length;
}

type Cell = string | number;

/** A table in Markdown: the first column to the left, all others to the right. */
export function markdownTable(heads: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const rule = heads.map((_, at) => (at === 0 ? '---' : '--:'));
  return [heads, rule, ...rows].map(markdownRow).join('\n');
}

/** For tables that are printed as they grow. */
export function markdownRow(cells: readonly Cell[]): string {
  return `| ${cells.join(' | ')} |`;
}
