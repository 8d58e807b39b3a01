import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../src/base/clock.ts';
import { hasEnded, isAlive, nameProcess } from '../src/base/process-name.ts';
import { readState } from '../src/governor/state.ts';
import { createGovernor } from '../src/governor.ts';
import { loadJobs } from '../src/job/load.ts';
import { openStore } from '../src/store.ts';
import { nodeOfSources, sourceAddress } from './helpers/sources.ts';

describe('the name of a process', () => {
  const name = nameProcess(() => 0.5);
  const [host = '', pid = '', numbering = '', started = '', chance = ''] = name.split(':');

  test('is like no other, and tells here whether it lives', () => {
    expect([host, Number(pid)]).toEqual([hostname(), process.pid]);
    expect(nameProcess(() => 0.25)).not.toBe(name);
    expect(hasEnded(name)).toBe(false);
    expect(hasEnded([host, 2 ** 30, numbering, started, chance].join(':'))).toBe(true);
  });

  test('tells that it ended though another process has its number by now', () => {
    expect(hasEnded([host, pid, numbering, Number(started) - 1, chance].join(':'))).toBe(true);
  });

  test('of another machine or container, or of this machine before it restarted, tells nothing', () => {
    for (const other of ['another', '', numbering.replace(/^./, 'x')])
      expect(hasEnded([host, 2 ** 30, other, started, chance].join(':'))).toBe(false);
  });

  test('of a process that ended counts, also while its parent does not look', async () => {
    const parent = spawn('/bin/sh', ['-c', 'true & echo $!; exec sleep 600'], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    onTestFinished(() => void parent.kill('SIGKILL'));
    const [line] = await once(parent.stdout, 'data');
    const ended = () => hasEnded([host, Number(`${line}`), numbering, '', chance].join(':'));
    await expect.poll(ended).toBe(true);
  });
});

/** A process that takes a permit from the governor of the folder, and keeps it. */
async function holderOf(dir: string, ...before: string[]): Promise<ChildProcess & { owner: string }> {
  const script = `
    import { createGovernor } from ${JSON.stringify(sourceAddress('governor.ts'))};
    import { openStore } from ${JSON.stringify(sourceAddress('store.ts'))};
    import { systemClock } from ${JSON.stringify(sourceAddress('base/clock.ts'))};
    import { hasEnded, isAlive, nameProcess } from ${JSON.stringify(sourceAddress('base/process-name.ts'))};
    import { loadJobs } from ${JSON.stringify(sourceAddress('job/load.ts'))};
    const store = openStore(${JSON.stringify(dir)}, await loadJobs(), Date.now);
    const owner = nameProcess(() => 0.5);
    const parts = { transact: store.governor.transact, owner, isGone: hasEnded, clock: systemClock };
    const governor = createGovernor({ ...parts, random: () => 0.5, longestWaitMs: 30_000 });
    await governor.acquire('news', new AbortController().signal);
    process.stdout.write(owner);
    setInterval(() => {}, 1000);`;
  const [command = '', ...args] = [...before, process.execPath, ...nodeOfSources, '-e', script];
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'inherit'], detached: true });
  onTestFinished(() => {
    try {
      process.kill(-(child.pid ?? 0), 'SIGKILL');
    } catch {}
  });
  const [owner] = await once(child.stdout, 'data');
  return Object.assign(child, { owner: String(owner) });
}

async function setup() {
  const dir = mkdtempSync(join(tmpdir(), 'mirror-owners-'));
  const store = openStore(dir, await loadJobs(), Date.now);
  onTestFinished(() => {
    store.close();
    rmSync(dir, { recursive: true });
  });
  const owner = nameProcess(() => 0.5);
  const governor = createGovernor({
    ...{ transact: store.governor.transact, owner, isGone: hasEnded, clock: systemClock },
    ...{ random: () => 0.5, longestWaitMs: 30_000 },
  });
  onTestFinished(() => governor.close());
  const owners = async () =>
    await store.governor.transact((kept) => {
      const { inFlight } = readState(kept, Date.now());
      return { result: [...new Set(inFlight.map((request) => request.owner))].sort() };
    });
  return { dir, owner, governor, owners };
}

const never = new AbortController().signal;

test('the next process on this machine knows at once that one was killed', async () => {
  const { dir, owner, governor, owners } = await setup();
  const holder = await holderOf(dir);
  expect(await owners()).toEqual([holder.owner]);
  holder.kill('SIGKILL');
  await once(holder, 'exit');
  const complete = await governor.acquire('news', never);
  expect(await owners()).toEqual([owner]);
  complete({ status: 200, limit: null, remaining: null, retryAfterMs: null });
});

// Not every machine lets every user make containers.
const container = ['unshare', '--pid', '--fork', '--mount-proc'];
const canContain = spawnSync(container[0] ?? '', [...container.slice(1), 'true']).status === 0;

test.runIf(canContain)(
  'two containers with one host name on one folder have a lease each, and none writes off that of another',
  async () => {
    const { dir, governor, owners } = await setup();
    const one = await holderOf(dir, ...container);
    const two = await holderOf(dir, ...container);
    const named = ({ owner }: { owner: string }) => owner.split(':').slice(0, 2);
    expect(named(one)).toEqual(named(two));
    expect(await owners()).toEqual([one.owner, two.owner].sort());
    // Two calls are in flight as far as it knows: it asks, and waits.
    await expect(governor.acquire('usage', AbortSignal.timeout(200))).rejects.toThrow();
    expect(await owners()).toEqual(expect.arrayContaining([one.owner, two.owner]));
  },
);

// A file that was torn by a power cut may hold any of these; for kill(2) some mean a group of processes, or all.
test.each([0, -1, -process.pid, Number.NaN, 2 ** 40])('%d is the number of no process', (pid) => {
  expect(isAlive(pid)).toBe(false);
});
