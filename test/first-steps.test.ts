/** The README as it is pasted: each of its lines in an empty folder, and what it says to expect. */

import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';
import { expect, onTestFinished, test } from 'vitest';
import { sampleKey, startModelApi } from '../model-api/index.ts';
import { runCli, startCli } from './helpers/cli.ts';
import { temporaryFolder } from './helpers/folder.ts';

type Step = { args: string[]; shown: string[] };

const [, steps = ''] = readFileSync('README.md', 'utf8').split('## First steps with the real API');
const sessions = [...steps.matchAll(/```console\n(.*?)```/gs)].map(([, text = '']) => text).join('\n');
const typed: Step[] = sessions
  .split(/^\$ npx market-mirror /m)
  .slice(1)
  .map((text) => {
    const [command = '', ...shown] = text.split('\n').filter((line) => line !== '');
    const args = [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? '');
    return { args, shown };
  });

/** Times, ids, durations and paths aside; how many checks, calls and bytes there are, too. */
const normalize = (line: string, folder = '/home/me/market') =>
  line
    .replaceAll(`${folder}/`, '')
    .replace(/20\d\d-\d\d-\d\dT\d\d[:-]\d\d[:-]\d\d(\.\d+)?Z/g, '<time>')
    .replace(/mmkey_\w+/g, '<key>')
    .replace(/[\d,]+(?= (checks|bytes|skipped|calls left))/g, '<number>')
    .replace(/\s+/g, ' ')
    .trim();

test('what the README shows is what comes, line by line, and the report proves itself', async () => {
  // A path with a space, and nothing else.
  const folder = temporaryFolder('mirror first-');
  const model = await startModelApi({ rows: 1_000 });
  onTestFinished(() => model.close());
  const commands = ['init', 'doctor', 'sync', 'query', 'export', 'keys', 'serve', 'backup', 'restore'];
  expect(typed.map(({ args: [name] }) => name)).toEqual(commands);

  for (const { args, shown } of typed) {
    const [name] = args;
    // As npx starts it. Who has no terminal answers the questions of init by the environment; then .env is all there is.
    const answers = { MARKET_API_URL: model.url, MARKET_API_KEY: sampleKey.key };
    const environment = { npm_command: 'exec', ...(name === 'init' && answers) };
    if (name === 'serve') {
      await serveOnce(args, { ...environment, MIRROR_SERVE: '127.0.0.1:0' }, folder);
      continue;
    }
    const { code, stdout, stderr } = await runCli(args, environment, folder);
    expect([name, code], stderr).toEqual([name, 0]);
    const came = (stdout + stderr).split('\n').map((line) => normalize(line, folder));
    for (const line of shown) expect(came, name).toContain(normalize(line));
    // All of the results are shown. A sync says them on stderr, where its progress comes first.
    const said =
      name === 'sync'
        ? stderr.split('\n').filter((line) => !/^[\w-]+: \d+ pages?,/.test(line))
        : stdout.split('\n');
    expect(shown.map((line) => normalize(line))).toEqual(
      expect.arrayContaining(said.filter((line) => line !== '').map((line) => normalize(line, folder))),
    );
  }

  const kept = ['.env', 'data', 'mirror-backup.db', 'mirror-backup.serve.db'];
  expect(readdirSync(folder).sort()).toEqual([...kept, 'signals.parquet', 'signals.parquet.meta.json']);
  const file = join(folder, 'signals.parquet');
  const rows = await parquetReadObjects({ file: await asyncBufferFromFile(file) });
  const receipt = JSON.parse(readFileSync(`${file}.meta.json`, 'utf8'));
  expect(rows.map(({ id }) => id).sort()).toEqual(model.data.aiSignals.rows.map(({ id }) => id).sort());
  expect(receipt).toMatchObject({
    rows: 1_000,
    sources: [{ job: 'ai-signals', proof: { verdict: 'snapshot' } }],
  });
  expect(receipt.sha256).toBe(createHash('sha256').update(readFileSync(file)).digest('hex'));
});

/** Until it answers. */
async function serveOnce(args: string[], environment: Record<string, string>, folder: string): Promise<void> {
  const { child, output, ended } = startCli(args, environment, folder);
  await expect.poll(output).toMatch(/"url":"http:[^"]+"/);
  const [, url = ''] = /"url":"([^"]+)"/.exec(output()) ?? [];
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
  child.kill('SIGTERM');
  expect((await ended).code).toBe(0);
}
