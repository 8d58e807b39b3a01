import { expect, test } from 'vitest';
import { createLogKeeper } from '../../src/daemon/log-keeper.ts';
import type { Log } from '../../src/log.ts';

const MB = 1_000_000;

function setup() {
  const lines: string[] = [];
  const say = (level: string) => (_: object, message: string) => void lines.push(`${level}: ${message}`);
  const log = { info: say('info'), warn: say('warn'), error: say('error') } as unknown as Log;
  const store = {
    bytes: 0,
    emptied: 0,
    logBytes: () => store.bytes,
    emptyLog: () => {
      store.emptied += 1;
    },
  };
  const keeper = createLogKeeper(store, log);
  const walk = (bytes: number) =>
    keeper.during(async () => {
      store.bytes = bytes;
    });
  return { store, lines, walk, keeper };
}

test('the log is emptied when no run is under way, however a run ended', async () => {
  const { store, keeper } = setup();
  let end = () => {};
  const first = keeper.during(() => new Promise((resolve) => (end = resolve)));
  await expect(keeper.during(() => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
  expect(store.emptied).toBe(0);
  end();
  await first;
  expect(store.emptied).toBe(1);
});

test('a reader that keeps it growing is told of once, and so is its end', async () => {
  const { lines, walk } = setup();
  for (const bytes of [1, 63, 70, 80, 90]) await walk(bytes * MB);
  expect(lines).toEqual([expect.stringMatching(/^warn: the write-ahead log has grown long: a reader/)]);
  for (const bytes of [2, 3, 70]) await walk(bytes * MB);
  expect(lines.slice(1)).toEqual([
    'info: the write-ahead log is short again',
    expect.stringMatching(/^warn: the write-ahead log has grown long/),
  ]);
});

test('what keeps the log from being emptied fails no run', async () => {
  const { store, lines, walk } = setup();
  store.emptyLog = () => {
    throw new Error('the disk is full');
  };
  await walk(1);
  expect(lines).toEqual(['warn: the write-ahead log could not be emptied: the disk is full']);
});
