import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { statusCommand } from '../../src/commands/status.ts';
import type { Status } from '../../src/reading/status.ts';
import { setup } from '../helpers/setup.ts';
import { onTerminal } from '../reading/support.ts';

async function mirrored() {
  const bench = await setup({ rows: 5 });
  await bench.mirror('ai-signals');
  return bench;
}

describe('the status on a terminal', () => {
  it('--watch draws over what it drew before', async () => {
    const bench = await mirrored();
    const stop = new AbortController();
    onTestFinished(() => stop.abort());
    const watching = onTerminal(statusCommand, ['--watch'], bench, { columns: 120, signal: stop.signal });
    await expect.poll(() => bench.clock.slept.length).toBeGreaterThan(2);
    stop.abort();
    const { stdout } = await watching;
    expect(stdout.match(/dataset/g)).toHaveLength(1);
    const linesUp = '\u001b[8A';
    const [first = '', second = ''] = stdout.split(linesUp);
    expect([first.includes('0s ago'), second.includes('1s ago')]).toEqual([true, true]);
  });

  it('--watch goes on until it is stopped, with one line of JSON a look', async () => {
    const bench = await mirrored();
    const stop = new AbortController();
    onTestFinished(() => stop.abort());
    const watching = onTerminal(statusCommand, ['--watch', '--json'], bench, { signal: stop.signal });
    await expect.poll(() => bench.clock.slept.length).toBeGreaterThan(3);
    stop.abort();
    const { stdout, code } = await Promise.race([watching, delay(60_000, { stdout: '', code: -1 })]);
    const looks = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Status);
    expect(looks.length).toBeGreaterThan(3);
    expect(new Set(looks.map(({ at }) => at)).size).toBe(looks.length);
    expect(code).toBe(looks.at(-1)?.exitCode);
  });
});
