/** Lines of progress: how much, how fast, how long still; on a terminal after two seconds, and gone at the end. */

import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import { progressLines } from '../../src/commands/live-lines.ts';
import type { Progress } from '../../src/mirror.ts';
import { virtualClock } from '../helpers/virtual-clock.ts';

/** What was written on it, without what moves and clears. */
function terminal(columns = 80) {
  const written: string[] = [];
  const write = (text: string) => void written.push(stripVTControlCharacters(text));
  return { written, isTTY: true, columns, write };
}

describe('a sync shows', () => {
  const saved = { inserted: 100, updated: 0, quarantined: 0, drifted: 0 };
  const at = (job: string, walk: object, callsLeft: number | null = null) =>
    ({
      job,
      walk: { id: 1, restarts: 0, generatedAt: null, ...walk },
      saved,
      callsLeft: () => callsLeft,
    }) as Progress;

  test('how far each dataset is, and at its end once what is left of the quota, which is of the account', () => {
    const clock = virtualClock();
    const output = { ...terminal(), isTTY: false };
    const lines = progressLines(output, clock);
    lines.page(at('ai-signals', { pages: 3, rows: 300 }, 1_007));
    lines.page(at('news', { id: 2, pages: 1, rows: 100 }));
    clock.advance(1_000);
    lines.page(at('ai-signals', { pages: 4, rows: 400 }, 1_005));
    clock.advance(3_000);
    lines.page(at('news', { id: 2, pages: 4, rows: 400 }));
    lines.end();
    expect(output.written).toEqual([
      'ai-signals: 3 pages, 300 rows\n',
      'news: 1 page, 100 rows\n',
      'news: 4 pages, 400 rows\n',
      'quota: 1,005 calls left\n',
    ]);
  });
});
