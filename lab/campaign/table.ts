/** The campaign's figures as a table. */

import type { Finding } from './checks.ts';
import type { Round } from './rounds.ts';

export type Line = {
  attack: string;
  times: number;
  kills: number;
  lost: number;
  false: number;
  orphans: number;
  'green but old': number;
  seconds: number;
  'until proven': number;
};

/** One line an attack, in the order in which they were met first, and their sum. */
export function linesOf(rounds: readonly Round[], atTheEnd: readonly Finding[] = []): Line[] {
  const names = [...new Set(rounds.map(({ attack }) => attack))];
  const lines = names.map((name) =>
    lineOf(
      name,
      rounds.filter(({ attack }) => attack === name),
    ),
  );
  return [...lines, lineOf('all', rounds, atTheEnd)];
}

function lineOf(attack: string, rounds: readonly Round[], more: readonly Finding[] = []): Line {
  const findings = [...rounds.flatMap((round) => round.findings), ...more];
  const sum = (value: (round: Round) => number) => rounds.reduce((total, round) => total + value(round), 0);
  const of = (kind: Finding['kind']) => findings.filter((found) => found.kind === kind).length;
  return {
    attack,
    times: sum(({ strikes }) => strikes),
    kills: sum(({ kills }) => kills),
    lost: of('lost'),
    false: of('false'),
    orphans: of('orphan'),
    'green but old': sum(({ lies }) => lies.length),
    seconds: Math.round(sum(({ seconds }) => seconds)),
    'until proven': Math.round(Math.max(0, ...rounds.map(({ secondsToProof }) => secondsToProof)) * 10) / 10,
  };
}

/** In Markdown, as it stands in `docs/reliability.md`. */
export function markdownOf(lines: readonly Line[]): string {
  const names = Object.keys(lines[0] ?? {}) as (keyof Line)[];
  const row = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [
    row(names),
    row(names.map((name) => (name === 'attack' ? '---' : '--:'))),
    ...lines.map((line) => row(names.map((name) => line[name].toLocaleString('en')))),
  ].join('\n');
}
