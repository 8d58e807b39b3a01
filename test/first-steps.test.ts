/** From an empty folder to a parquet file with a receipt, with nothing but what the README says to type. */

import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';
import { expect, onTestFinished, test } from 'vitest';
import { sampleKey, startModelApi } from '../model-api/index.ts';
import { runCli } from './helpers/cli.ts';

const [, steps = ''] = readFileSync('README.md', 'utf8').split('## First steps with the real API');
const commands = [...(steps.split('```')[1] ?? '').matchAll(/^npx market-mirror (.+?)(?: +#.*)?$/gm)].map(
  ([, typed = '']) => [...typed.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? ''),
);

test('the first steps of the README lead from an empty folder to a report that proves itself', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'mirror-first-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const model = await startModelApi({ rows: 130 });
  onTestFinished(() => model.close());
  const names = commands.map(([name]) => name);
  expect(names).toEqual(['init', 'doctor', 'sync', 'status', 'query', 'export', 'start']);

  // Who has no terminal answers the questions of init by the environment; then .env is all there is.
  const answers = { MARKET_API_URL: model.url, MARKET_API_KEY: sampleKey.key };
  for (const command of commands.slice(0, -1)) {
    const ended = await runCli(command, command[0] === 'init' ? answers : {}, folder);
    expect(ended, command.join(' ')).toMatchObject({ code: 0 });
    if (command[0] === 'query') expect(ended.stdout).toMatch(/^ai-signals +130 .*snapshot +complete/m);
  }

  expect(readdirSync(folder).sort()).toEqual([
    '.env',
    'data',
    'signals.parquet',
    'signals.parquet.meta.json',
  ]);
  const file = join(folder, 'signals.parquet');
  const rows = await parquetReadObjects({ file: await asyncBufferFromFile(file) });
  const receipt = JSON.parse(readFileSync(`${file}.meta.json`, 'utf8'));
  expect(rows.map(({ id }) => id).sort()).toEqual(model.data.aiSignals.rows.map(({ id }) => id).sort());
  expect(receipt).toMatchObject({
    rows: 130,
    sources: [{ job: 'ai-signals', proof: { verdict: 'snapshot' } }],
  });
  expect(receipt.sha256).toBe(createHash('sha256').update(readFileSync(file)).digest('hex'));
});
