/** "After a change" in docs/reports.md: its examples, run as whoever copies them would run them. */

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';
import { describe, expect, it, onTestFinished } from 'vitest';
import { scopes, startModelApi } from '../model-api/index.ts';
import { systemClock } from '../src/base/clock.ts';
import { cliFile } from './helpers/cli.ts';
import { daemonHere } from './helpers/daemon.ts';
import { insert, publish } from './helpers/edits.ts';
import { temporaryFolder } from './helpers/folder.ts';
import { runMain } from './helpers/main.ts';
import { othersOff } from './helpers/virtual-life.ts';
import { ndjson } from './reading/support.ts';

const CANARY = 'canary-key-41d0c2';

const [, page = ''] = readFileSync('docs/reports.md', 'utf8').split('## After a change');
const example = (fence: string) => page.split(`\`\`\`${fence}\n`)[1]?.split('```')[0] ?? '';

/** A folder to work in, with `market-mirror` in the PATH, and a model of the API. */
async function setup() {
  const cwd = temporaryFolder();
  mkdirSync(join(cwd, 'bin'));
  symlinkSync(cliFile(), join(cwd, 'bin/market-mirror'));
  symlinkSync(resolve('node_modules'), join(cwd, 'node_modules'));
  const model = await startModelApi({ rows: 30, keys: [{ id: 'test', key: CANARY, scopes }] });
  onTestFinished(() => model.close());
  const environment = {
    PATH: `${join(cwd, 'bin')}:${process.env['PATH']}`,
    MARKET_API_URL: model.url,
    MARKET_API_KEY: CANARY,
    MIRROR_DIR: join(cwd, 'data'),
  };
  const file = (name: string) => join(cwd, name);
  const text = (name: string) => (existsSync(file(name)) ? readFileSync(file(name), 'utf8') : '');
  return { cwd, model, environment, file, text };
}

describe('after a change', () => {
  it('sync runs the command of the example, which leaves a report, and is given no secret', async () => {
    const { cwd, environment, file, text } = await setup();
    const [, command = ''] = /^MIRROR_ON_CHANGE='(.*)'$/m.exec(example('sh')) ?? [];
    const settings = {
      ...environment,
      REDIS_URL: `redis://user:${CANARY}@127.0.0.1:1`,
      CREDENTIALS_DIRECTORY: '/run/credentials/mirror',
      NOTIFY_SOCKET: '/run/systemd/notify',
      WATCHDOG_USEC: '120000000',
      MIRROR_ON_CHANGE: `${command}; env > "$CHANGE_JOB.env"; exit 5`,
    };
    const sync = (...jobs: string[]) => runMain(['sync', ...jobs], settings, systemClock);
    const home = process.cwd();
    process.chdir(cwd);
    onTestFinished(() => process.chdir(home));
    const first = await sync('ai-signals', 'usage');
    expect(first.code).toBe(0);
    expect(first.stderr).toMatch(/^ai-signals: .*ai-signals\.parquet: 30 rows/m);
    expect(first.stderr).toMatch(/^usage: MIRROR_ON_CHANGE failed with exit code 5$/m);
    const rows = await parquetReadObjects({
      file: await asyncBufferFromFile(file('reports/ai-signals.parquet')),
    });
    expect(rows).toHaveLength(30);
    expect(text('ai-signals.env')).toContain('CHANGE_INSERTED=30');
    expect(text('ai-signals.env')).not.toMatch(/^(CREDENTIALS|NOTIFY|WATCHDOG)_/m);
    expect(text('ai-signals.env') + first.stdout + first.stderr).not.toContain(CANARY);

    rmSync(file('ai-signals.env'));
    const second = await sync('ai-signals');
    expect([second.code, existsSync(file('ai-signals.env'))]).toEqual([0, false]);
  });

  it('a worker on the queue, as in the example, reports what is new; the daemon ends what it started', async () => {
    const { cwd, model, environment, text } = await setup();
    const { lines, stop } = daemonHere({
      ...environment,
      ...othersOff,
      MIRROR_ON_CHANGE: `printf 'told \\033[31m\\n'; sleep 60`,
      MIRROR_SCHEDULE_AI_SIGNALS: 'every 1s',
      MIRROR_SCHEDULE_NEWS: 'off',
    });
    await expect.poll(() => text('data/queue.json')).toContain('mirror-changes');
    expect(JSON.parse(text('data/queue.json'))).toEqual({
      queue: 'mirror-changes',
      prefix: `market-mirror-${text('data/mirror.id').trim()}`,
      socket: expect.stringMatching(/\.sock$/),
    });

    writeFileSync(join(cwd, 'report.mjs'), example('js'));
    const worker = spawn(process.execPath, ['report.mjs'], {
      cwd,
      env: { PATH: environment.PATH, MIRROR_DIR: environment.MIRROR_DIR },
      stdio: 'ignore',
    });
    const gone = once(worker, 'exit');
    onTestFinished(async () => {
      worker.kill('SIGKILL');
      await gone;
    });
    const changes = () => ndjson(text('ai-signals.ndjson')).map((row) => row['_change']);
    await expect.poll(changes).toHaveLength(30);
    insert(0, 2)(model.data.aiSignals);
    publish(new Date().toISOString())(model.data.aiSignals);
    await expect.poll(changes).toHaveLength(32);
    expect(changes().slice(-2)).toEqual(['insert', 'insert']);

    expect(lines).toContainEqual(
      expect.objectContaining({ level: 30, job: 'ai-signals', msg: 'told \\u{1b}[31m' }),
    );
    const began = Date.now();
    await stop();
    expect(Date.now() - began).toBeLessThan(20_000);
    expect(lines.filter(({ level }) => level >= 40)).toEqual([]);
  });
});
