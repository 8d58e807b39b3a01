/** The table of figures for `docs/reliability.md`: the bare rule of the specification beside ours. */

import { kinds } from './kinds.ts';
import { type Figures, measure } from './measure.ts';
import { bareRule, ourRule } from './rules.ts';

/** Markdown, a row a kind of change and rate; `rowPasses` for each rule. */
export async function figuresTable(rowPasses: number, seed: number): Promise<string> {
  const lines = [
    '| change | per call | missed, bare rule | missed | missed in proofs | falsely removed, bare rule | falsely removed | proofs | calls, bare rule | calls |',
    '|---|---|---|---|---|---|---|---|---|---|',
  ];
  for (const kind of kinds)
    for (const rate of kind.rates) {
      const bare = await measure(kind, rate, bareRule, rowPasses, seed);
      const ours = await measure(kind, rate, ourRule, rowPasses, seed);
      lines.push(
        row(
          kind.name,
          rate,
          perMillion(bare, 'missed'),
          perMillion(ours, 'missed'),
          perMillion(ours, 'missedInProofs'),
          perMillion(bare, 'falselyRemoved'),
          perMillion(ours, 'falselyRemoved'),
          `${Math.round((100 * ours.proofs) / ours.passes)} %`,
          ratio(bare),
          ratio(ours),
        ),
      );
    }
  return lines.join('\n');
}

const row = (...cells: (string | number)[]) => `| ${cells.join(' | ')} |`;

function perMillion(figures: Figures, what: 'missed' | 'missedInProofs' | 'falselyRemoved'): string {
  const rate = (figures[what] * 1_000_000) / figures.rowPasses;
  return rate === 0 || rate >= 10 ? Math.round(rate).toLocaleString('en') : rate.toPrecision(2);
}

const ratio = ({ calls, leastCalls }: Figures) => (calls / leastCalls).toFixed(2);
