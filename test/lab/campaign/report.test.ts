import { expect, test } from 'vitest';
import { attacks } from '../../../lab/campaign/attacks.ts';
import { linesOf, markdownOf } from '../../../lab/campaign/report.ts';
import type { Round } from '../../../lab/campaign/rounds.ts';

const round = (attack: string, more: Partial<Round> = {}): Round => ({
  attack,
  strikes: 2,
  kills: 3,
  seconds: 10.4,
  secondsToProof: 1.25,
  findings: [],
  lies: [],
  lines: 100,
  ...more,
});

test('the table has a line an attack and their sum, with what was found at the end', () => {
  const rounds = [
    round('kill', { findings: [{ kind: 'lost', what: 'a row' }] }),
    round('flush', { lies: ['green'] }),
    round('kill', { secondsToProof: 7, findings: [{ kind: 'false', what: 'a row' }] }),
  ];
  expect(markdownOf(linesOf(rounds, [{ kind: 'orphan', what: 'a process' }]))).toBe(
    [
      '| attack | times | kills | lost | false | orphans | green but old | seconds | until proven |',
      '| --- | --: | --: | --: | --: | --: | --: | --: | --: |',
      '| kill | 4 | 6 | 1 | 1 | 0 | 0 | 21 | 7 |',
      '| flush | 2 | 3 | 0 | 0 | 0 | 1 | 10 | 1.3 |',
      '| all | 6 | 9 | 1 | 1 | 1 | 1 | 31 | 7 |',
    ].join('\n'),
  );
});

test('every attack has a name of its own, and says what it does', () => {
  expect(new Set(attacks.map(({ name }) => name)).size).toBe(attacks.length);
  for (const { about, lasts } of attacks) {
    expect(about).not.toBe('');
    expect(lasts[0]).toBeLessThanOrEqual(lasts[1]);
  }
});
