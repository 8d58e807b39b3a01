import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { printable } from '../../src/base/printable.ts';
import { change } from '../helpers/edits.ts';
import { temporaryFolder } from '../helpers/folder.ts';
import { runMain } from '../helpers/main.ts';
import type { Bench } from '../helpers/mirror-bench.ts';
import { setup } from '../helpers/setup.ts';
import { virtualClock } from '../helpers/virtual-clock.ts';

const run = (bench: Bench, ...args: string[]) =>
  runMain(['quarantine', ...args], { MIRROR_DIR: bench.dir }, bench.clock);

/** Two rows of ai-signals in quarantine, one of them known by a key of control characters. */
async function setupRefusing(): Promise<Bench> {
  const bench = await setup({ rows: 5 });
  change(1, { confidence: 'high' })(bench.upstream('ai-signals'));
  change(2, { id: 'evil\u001b[2J\u202ename', quality: null })(bench.upstream('ai-signals'));
  await bench.mirror('ai-signals');
  return bench;
}

const fits = (bench: Bench) =>
  bench.tamper(`UPDATE quarantine SET body = json_set(body, '$.confidence', 0.5) WHERE id = 1`);

describe('quarantine list', () => {
  it('prints JSON that holds the rows as they came, and neither form drives a terminal or misleads its reader', async () => {
    const bench = await setupRefusing();
    const [text, json] = [(await run(bench)).stdout, (await run(bench, 'list', '--json')).stdout];
    for (const printed of [text, json]) {
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
      expect(printed).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/);
      expect(printed).toContain('evil');
    }
    expect(JSON.parse(json)).toMatchObject([
      {
        job: 'ai-signals',
        key: bench.upstream('ai-signals').rows[1]?.['id'],
        problems: [{ path: 'confidence', expected: 'a value of type number', received: 'string' }],
        body: JSON.stringify(bench.upstream('ai-signals').rows[1]),
        times: 1,
      },
      { key: 'evil\u001b[2J\u202ename', problems: [{ path: 'quality', received: 'null' }] },
    ]);
    expect((await run(bench, 'list', 'news')).stdout).toBe('no row is in quarantine\n');
    expect(JSON.parse((await run(bench, 'list', 'news', '--json')).stdout)).toEqual([]);
    expect(JSON.parse((await run(bench, 'list', 'news', 'ai-signals', '--json')).stdout)).toHaveLength(2);
  });
});

it('quarantine retry says what became of the rows, also as JSON, and mirrors those that fit', async () => {
  const bench = await setupRefusing();
  const once = {
    job: 'ai-signals',
    tried: 2,
    mirrored: 0,
    gone: 0,
    refused: 2,
    exitCode: 0,
    message: null,
  };
  expect(JSON.parse((await run(bench, 'retry', 'ai-signals', '--json')).stdout)).toEqual([once]);
  fits(bench);
  const { code, stdout } = await run(bench, 'retry');
  expect(code).toBe(0);
  expect(stdout.split('\n')).toEqual([
    'ai-signals: 2 tried, 1 mirrored, 1 still refused',
    ...['meme-signals', 'news', 'smart-wallets', 'usage'].map((job) => `${job}: no row is in quarantine`),
    '',
  ]);
  expect(bench.sql('SELECT count(*) AS rows FROM ai_signals')).toEqual([{ rows: 4 }]);
  expect(JSON.parse((await run(bench, 'list', '--json')).stdout)).toHaveLength(1);
});

it('has nothing to list or retry where there is no mirror yet, and makes none: 75', async () => {
  const dir = temporaryFolder();
  for (const action of ['list', 'retry']) {
    const { code, stderr } = await runMain(['quarantine', action], { MIRROR_DIR: dir }, virtualClock());
    expect([code, stderr]).toEqual([75, expect.stringMatching(/^[^\n]*does not exist yet[^\n]*\n$/)]);
  }
  expect(readdirSync(dir)).toEqual([]);
});

describe('text made safe for a terminal', () => {
  const evil = 'a\u001b]0;x\u0007\u009b31m\u202e\u2066\u200bé 柴犬 😀\u{e0041}\ud800\n\t';

  it('shows what it would have obeyed, and is otherwise unchanged', () => {
    expect(printable(evil)).toBe(
      'a\\u{1b}]0;x\\u{7}\\u{9b}31m\\u{202e}\\u{2066}\\u{200b}é 柴犬 😀\\u{e0041}\ufffd\\n\\t',
    );
  });
});
