import { mkdirSync, renameSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { Failure, Snooze } from '../../src/base/errors.ts';
import type { Log } from '../../src/base/log.ts';
import { watchMirrorFile } from '../../src/daemon/mirror-file.ts';
import { runDaemon } from '../../src/daemon.ts';
import { startCli } from '../helpers/cli.ts';
import { idsOf, setupSync, truth } from '../helpers/sync-bench.ts';
import { sharedClock } from '../helpers/virtual-clock.ts';
import { othersOff } from '../helpers/virtual-life.ts';

const idle = { ...othersOff, MIRROR_SCHEDULE_NEWS: 'off' };

/** A daemon of the built program that has mirrored AI signals once. */
async function running() {
  const bench = await setupSync({ rows: 20 }, sharedClock());
  const settings = { ...bench.environment, ...idle, MIRROR_SCHEDULE_AI_SIGNALS: 'every 1h' };
  const daemon = startCli(['start'], settings, bench.cwd);
  await expect.poll(daemon.output).toContain('walk complete');
  // The first walk may end before the health check is there.
  await expect.poll(daemon.output).toContain('mirroring http');
  return { ...bench, daemon };
}

function remove(file: string): void {
  for (const path of [file, `${file}-wal`, `${file}-shm`]) rmSync(path);
}

async function health(socketPath: string): Promise<unknown> {
  return await new Promise((resolve, reject) => {
    request({ socketPath, path: '/health' }, async (response) =>
      resolve([response.statusCode, Buffer.concat(await response.toArray()).toString()]),
    )
      .on('error', reject)
      .end();
  });
}

describe('a daemon whose mirror is gone', () => {
  test('that goes as a run ends says that alone', async () => {
    const { environment, file } = await setupSync({ rows: 20 }, sharedClock());
    const lines: unknown[] = [];
    const warn = (...line: unknown[]) => void lines.push(line);
    const daemon = runDaemon(
      {
        environment: {
          PATH: process.env['PATH'],
          ...environment,
          ...idle,
          MIRROR_SCHEDULE_AI_SIGNALS: 'every 1h',
        },
        clock: systemClock,
        random: () => 0.5,
        log: { info: () => undefined, warn, error: warn } as unknown as Log,
        ended: () => remove(file),
      },
      new AbortController().signal,
    );
    await expect(daemon).rejects.toMatchObject({ kind: 'disk', message: expect.stringContaining('is gone') });
    expect(lines).toEqual([]);
  });

  test('hears of it by the health check, and goes on once the mirror is back', async () => {
    const { daemon, file, cwd, sync, model } = await running();
    mkdirSync(join(cwd, 'aside'));
    for (const part of ['', '-wal', '-shm'])
      renameSync(`${file}${part}`, join(cwd, `aside/mirror.db${part}`));
    const answer = await health(join(dirname(file), 'http.sock')).catch(({ code }) => code);
    // Else it has looked by itself at that very moment, and is ending.
    if (answer !== 'ECONNRESET') expect(answer).toEqual([500, expect.stringContaining('is gone')]);
    expect((await daemon.ended).code).toBe(74);
    expect((await sync('ai-signals')).code).toBe(74);
    for (const part of ['', '-wal', '-shm'])
      renameSync(join(cwd, `aside/mirror.db${part}`), `${file}${part}`);
    expect((await sync('ai-signals')).code).toBe(0);
    expect(idsOf(file)).toEqual(truth(model));
  });
});

const MB = 1_000_000;

function setup() {
  const lines: string[] = [];
  const say = (level: string) => (_: object, message: string) => void lines.push(`${level}: ${message}`);
  const log = { info: say('info'), warn: say('warn'), error: say('error') } as unknown as Log;
  const store = {
    loss: undefined as Failure | undefined,
    lost: () => store.loss,
    bytes: 0,
    emptied: 0,
    logBytes: () => store.bytes,
    emptyLog: async () => {
      store.emptied += 1;
    },
  };
  const file = watchMirrorFile({ store, log, clock: { now: () => 5 } });
  const walk = (bytes: number) =>
    file.during(async () => {
      store.bytes = bytes;
    });
  return { store, lines, walk, file };
}

test('a run that ends in a file that is gone is put back, whatever it came to', async () => {
  const gone = new Failure('disk', 'mirror.db is gone');
  const { store, file } = setup();
  await file.during(async () => undefined);
  expect(file.ifHere(() => 'status')).toBe('status');
  const failing = file.during(async () => {
    store.loss = gone;
    throw new Error('the walk failed');
  });
  await expect(failing).rejects.toEqual(new Snooze(5, 'shutdown'));
  const began: string[] = [];
  await expect(file.during(async () => void began.push('a walk'))).rejects.toBeInstanceOf(Snooze);
  expect(began).toEqual([]);
  expect(() => file.ifHere(() => 'status')).toThrow(gone);
  expect(file.gone.reason).toBe(gone);
});

test('the log is emptied when no run is under way, however a run ended', async () => {
  const { store, file } = setup();
  let end = () => {};
  const first = file.during(() => new Promise((resolve) => (end = resolve)));
  await expect(file.during(() => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
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
