/** The table of figures for `docs/reliability.md`: the bare rule of the specification beside ours. */

import { type Kind, kinds } from './kinds.ts';
import { type Figures, measure } from './measure.ts';
import { bareRule, ourRule } from './rules.ts';

/**
 * Markdown, a row a kind of change and rate; `rowPasses` for each rule.
 * @throws Error where a proof of ours missed a row under changes that keep the order: none ever may.
 */
export async function figuresTable(rowPasses: number, seed: number): Promise<string> {
  const lines = [
    '| what changes | changes a call | missed: bare rule | missed: ours | missed in proofs | falsely removed: bare rule | falsely removed: ours | proofs | calls ÷ least: bare rule | calls ÷ least: ours |',
    `|---${'|--:'.repeat(9)}|`,
  ];
  for (const kind of kinds)
    for (const rate of kind.rates) {
      const bare = await measure(kind, rate, bareRule, rowPasses, seed);
      const ours = await measure(kind, rate, ourRule, rowPasses, seed);
      checkProofs(kind, ours);
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

function checkProofs({ name, orderly }: Kind, { missedInProofs, falselyRemoved }: Figures): void {
  if (orderly && missedInProofs + falselyRemoved > 0)
    throw new Error(`${name}: ${missedInProofs} rows missed in proofs, ${falselyRemoved} falsely removed`);
}

const row = (...cells: (string | number)[]) => `| ${cells.join(' | ')} |`;

function perMillion(figures: Figures, what: 'missed' | 'missedInProofs' | 'falselyRemoved'): string {
  const rate = (figures[what] * 1_000_000) / figures.rowPasses;
  return rate === 0 || rate >= 10 ? Math.round(rate).toLocaleString('en') : rate.toPrecision(2);
}

const ratio = ({ calls, leastCalls }: Figures) => (calls / leastCalls).toFixed(2);
