/** Lines of progress: how much, how fast, how long still; on a terminal after two seconds, and gone at the end. */

import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, test } from 'vitest';
import { progressLines } from '../../src/commands/live-lines.ts';
import { main } from '../../src/commands.ts';
import type { Progress } from '../../src/mirror.ts';
import { change } from '../helpers/edits.ts';
import { copyMirror, type MirrorCopy, setupCopy, setupSync } from '../helpers/sync-bench.ts';
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

let copy: MirrorCopy | undefined;

/** Of two lists, and a row that was refused. */
async function mirrorOnce(): Promise<MirrorCopy> {
  const bench = await setupSync({ rows: 1_040 });
  change(1, { confidence: 'high' })(bench.model.data.aiSignals);
  await bench.sync('ai-signals', 'news');
  return copyMirror(bench, 1_040);
}

test.each([
  ['backup', ['copy.db'], 'copying: '],
  ['export', ['news', '-o', 'news.csv'], 'news: 1,040'],
  ['quarantine', ['retry'], 'ai-signals: 1 of 1 rows'],
])('%s has one on a terminal, and nothing of it elsewhere', async (command, args, expected) => {
  copy ??= await mirrorOnce();
  const bench = await setupCopy(copy);
  const changes = { MIRROR_LAKE: join(bench.cwd, 'lake') };
  const inFolder = args.map((arg) => (arg.includes('.') ? join(bench.cwd, arg) : arg));
  // Each look at the clock finds it much later.
  let looks = 0;
  const monotonic = () => {
    looks += 1;
    return looks * 3_000;
  };
  const clock = { ...bench.clock, monotonic };
  const stderr = terminal();
  const signal = new AbortController().signal;
  const stdout = { write: () => undefined };
  const environment = { ...bench.environment, ...changes };
  const random = Math.random;
  await main([command, ...inFolder], { environment, clock, random, stdout, stderr, signal });
  expect(stderr.written.find((text) => text.startsWith(expected))).toBeDefined();
  expect(stderr.written).toContain('');
  if (command === 'quarantine') return;
  const piped = await bench.run([command, ...inFolder, ...(command === 'lake' ? [] : ['--force'])], changes);
  expect([piped.code, piped.stderr]).toEqual([0, expect.not.stringContaining(expected)]);
});
