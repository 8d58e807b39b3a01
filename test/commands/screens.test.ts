/**
 * The screens of the commands for people, to the letter, each in a file of its own: `npx vitest run -u` writes them anew. The
 * helps are docs/cli.md.
 */

import { expect, test } from 'vitest';
import { faults, when } from '../../model-api/index.ts';
import { planCommand } from '../../src/commands/plan.ts';
import { statusCommand } from '../../src/commands/status.ts';
import { change, insert, publish } from '../helpers/edits.ts';
import { setupKeys } from '../helpers/main.ts';
import { setupSync } from '../helpers/sync-bench.ts';
import { live, othersOff } from '../helpers/virtual-life.ts';
import { onTerminal } from '../reading/support.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const WIDTH = 160;

/** @param folder what differs from run to run, beside numbers of processes, ports, keys and versions. */
async function expectScreen(name: string, text: string, folder: string): Promise<void> {
  const masked = text
    .replaceAll(folder, '/folder')
    .replace(/\bk[0-9a-f]{10}\b/g, 'k0123456789')
    .replace(/process \d+/g, 'process 1')
    .replace(/(?<=reset twice, )\d+ms/g, '500ms')
    .replace(/(?<=T\d\d:\d\d):\d\d\.\d{3}Z/g, ':00.000Z')
    .replace(/X-Request-ID [\w-]+/g, 'X-Request-ID r-1');
  await expect(masked).toMatchFileSnapshot(`screens/${name}.txt`);
}

/** Some hours of two datasets, with a row that broke the contract, a field nobody knows, and a list that is refused. */
async function eventfulLife() {
  const bench = await setupSync({ rows: 250, quota: { limit: 60, periodMs: HOUR } });
  const { model, clock, sync } = bench;
  for (let walk = 0; walk < 5; walk += 1) {
    if (walk > 0) insert(0, 5)(model.data.news);
    if (walk === 2) change(1, { confidence: 'high' })(model.data.aiSignals);
    if (walk === 3) change(2, { surprise: 1 })(model.data.aiSignals);
    publish(new Date(clock.now()).toISOString())(model.data.aiSignals);
    for (const job of ['ai-signals', 'news']) await sync(job);
    clock.advance(HOUR);
  }
  model.faults.push(when({ endpoint: 'memeSignals' }, faults.refuse(429, { retryAfter: '1800' })));
  for (const job of ['smart-wallets', 'meme-signals']) await sync(job, '--no-wait');
  clock.advance(MINUTE / 2);
  return { ...bench, dir: bench.environment.MIRROR_DIR };
}

test('status and quarantine', async () => {
  const bench = await eventfulLife();
  const { cwd, run } = bench;
  const [short, verbose] = [await run(['status']), await run(['status', '-v'])];
  for (const line of short.stdout.split('\n')) expect(line.length, line).toBeLessThanOrEqual(100);
  await expectScreen('status', `${short.stdout}\n${verbose.stdout}`, cwd);
  const shown = await onTerminal(statusCommand, [], bench, { columns: WIDTH });
  await expectScreen('status-terminal', shown.stdout, cwd);
  await expectScreen('quarantine', (await run(['quarantine'])).stdout, cwd);
});

test('plan', async () => {
  const bench = await setupSync({ rows: 220, quota: { limit: 60, periodMs: HOUR } });
  const settings = {
    MIRROR_SCHEDULE_AI_SIGNALS: 'every 20m',
    MIRROR_SCHEDULE_NEWS: 'every 1h',
    ...othersOff,
  };
  let published = bench.clock.now();
  await live(bench, settings, 8 * HOUR, (now) => {
    if (now < published + 2 * HOUR) return;
    published = now;
    for (const list of [bench.model.data.aiSignals, bench.model.data.news]) insert(0, 2)(list);
    publish(new Date(now).toISOString())(bench.model.data.aiSignals);
  });
  const screen = async (changes: Record<string, string> = {}) =>
    (await bench.run(['plan'], { ...settings, ...changes })).stdout;
  await expectScreen('plan', await screen(), bench.cwd);
  await expectScreen('plan-scarce', await screen({ MIRROR_SCHEDULE_NEWS: 'every 1m' }), bench.cwd);
  const dir = bench.environment.MIRROR_DIR;
  const shown = await onTerminal(planCommand, [], { ...bench, dir }, { columns: WIDTH });
  await expectScreen('plan-terminal', shown.stdout, bench.cwd);
});

test('keys', async () => {
  const { dir, run, clock } = setupKeys();
  const said: string[] = [];
  const say = async (...args: string[]) => {
    const { stdout, stderr } = await run(...args);
    said.push(`$ keys ${args.join(' ')}\n${stdout.replace(/mmkey_\w+/, 'mmkey_')}${stderr}`);
  };
  await say('list');
  await say('limits');
  await say('create', '--name', 'reports', '--quota', '1000/1h,refill', '--rate', '10/1s+20');
  await say('create', '--name', 'desk', '--scope', 'news:read', '--allow', '10.0.0.0/8', '--expires', '90d');
  await say('create', '--name', 'me', '--account', 'desk', '--scope', 'page:read');
  await say('create', '--name', 'short', '--expires', '1h', '--scope', 'none', '--concurrency', '4');
  clock.advance(HOUR);
  await say('rotate', 'reports', '--overlap', '24h');
  await say('revoke', 'desk');
  await say('limits', 'desk', '--quota', '5000/1h,refill');
  await say('list');
  await say('limits');
  await expectScreen('keys', said.join('\n'), dir);
});
