import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { runMain } from '../helpers/main.ts';
import { needs } from '../helpers/tools.ts';
import { virtualClock } from '../helpers/virtual-clock.ts';

const folder = mkdtempSync(join(tmpdir(), 'mm-completion-'));
afterAll(() => rmSync(folder, { recursive: true }));
writeFileSync(join(folder, 'question.sql'), '');

async function scriptFor(shell: string): Promise<string> {
  const { code, stdout } = await runMain(['completion', shell], {}, virtualClock());
  expect(code).toBe(0);
  return stdout;
}

/** The words that bash offers, once for each line with the word under the cursor last. */
function askBash(script: string, lines: readonly string[][]): string[][] {
  const asked = lines.map((words) => {
    const quoted = ['market-mirror', ...words].map((word) => `'${word}'`).join(' ');
    return `COMP_WORDS=(${quoted}); COMP_CWORD=${words.length}; _market_mirror; echo "\${COMPREPLY[*]}"`;
  });
  const said = execFileSync('bash', ['--norc', '-c', [script, ...asked].join('\n')], {
    cwd: folder,
    encoding: 'utf8',
  });
  return said
    .trimEnd()
    .split('\n')
    .map((line) => line.split(' ').filter((word) => word !== ''));
}

test('bash completes commands, options, values, jobs and files', async () => {
  const jobs = ['ai-signals', 'meme-signals', 'news', 'smart-wallets', 'usage'];
  const offers: [line: string, words: unknown][] = [
    ['', expect.arrayContaining(['init', 'doctor', 'sync', 'completion', 'help'])],
    ['sta', ['start', 'status']],
    ['sync ', jobs],
    ['sync me', ['meme-signals']],
    ['sync news sm', ['smart-wallets']],
    ['query --f', ['--file', '--format']],
    ['query --format ', ['table', 'json', 'ndjson', 'csv', 'md']],
    ['export --format csv ai', ['ai-signals']],
    ['query --file q', ['question.sql']],
    ['query --limit ', []],
    ['quarantine ', ['list', 'retry']],
    ['quarantine retry n', ['news']],
    ['help doc', ['doctor']],
  ];
  const lines = offers.map(([line]) => line.split(' '));
  expect(askBash(await scriptFor('bash'), lines)).toEqual(offers.map(([, words]) => words));
});

test('zsh can read its script, which tells of commands, jobs, options and formats', async () => {
  needs('zsh');
  const script = await scriptFor('zsh');
  for (const word of ['doctor', 'smart-wallets', 'no-wait', 'parquet']) expect(script).toContain(word);
  writeFileSync(join(folder, 'script.zsh'), script);
  const { status, stderr } = spawnSync('zsh', ['-n', join(folder, 'script.zsh')], { encoding: 'utf8' });
  expect([status, stderr]).toEqual([0, '']);
});

test('fish completes jobs, formats and files', async () => {
  needs('fish');
  writeFileSync(join(folder, 'script.fish'), await scriptFor('fish'));
  const ask = (line: string) =>
    execFileSync('fish', ['-c', `source script.fish; complete -C 'market-mirror ${line}'`], {
      cwd: folder,
      encoding: 'utf8',
    })
      .trim()
      .split('\n')
      .map((offer) => offer.split('\t')[0]);
  expect(ask('sync n')).toEqual(['news']);
  expect(ask('export --format ')).toEqual(['csv', 'json', 'ndjson', 'parquet']);
  expect(ask('query --file q')).toEqual(['question.sql']);
});

test('another shell is refused with those that are known: 64', async () => {
  const { code, stderr } = await runMain(['completion', 'zhs'], {}, virtualClock());
  expect([code, stderr]).toEqual([
    64,
    expect.stringMatching(
      /^market-mirror: shell is one of bash, zsh, fish, not 'zhs' \(did you mean zsh\?\)/,
    ),
  ]);
});
