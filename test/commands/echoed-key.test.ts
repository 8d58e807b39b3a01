/** A daemon whose API quotes the key in every kind of answer: no twelve letters of it are left in any file or output. */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { faults, when } from '../../model-api/index.ts';
import { Database } from '../../src/store/sqlite.ts';
import { daemonHere } from '../helpers/daemon.ts';
import { CANARY, setup } from '../helpers/daemon-bench.ts';

const pieces = Array.from({ length: CANARY.length - 11 }, (_, at) => CANARY.slice(at, at + 12));
const found = (bytes: Buffer | string) => pieces.filter((piece) => bytes.includes(piece));

const filesIn = (folder: string) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));

test('the key is in no file, no log, no output and nowhere in Redis', async () => {
  // Where a glance at an answer is cut, and where a request id is: the key stands across both.
  const page = Buffer.from(`<p>${'-'.repeat(200 - CANARY.length)}${CANARY}</p>`);
  const quoting = faults.headers({ 'x-request-id': `${'r'.repeat(115)}${CANARY}` });
  const { environment, run, cwd, file, model } = await setup({
    faults: [
      when({}, quoting),
      when({ endpoint: 'smartWallets' }, faults.status(200, page, { 'content-type': 'text/html' }), quoting),
      when(
        { endpoint: 'memeSignals' },
        faults.status(404, { error: `e${CANARY}`, message: CANARY }),
        quoting,
      ),
      when(
        { endpoint: 'usage' },
        faults.editText((text) => `${text.slice(0, -1)},"${CANARY}":["${CANARY}"]}`),
      ),
    ],
  });
  Object.assign(model.data.news.rows[0] ?? {}, { [`by ${CANARY}`]: 1, note: `Bearer ${CANARY}` });
  Object.assign(model.data.aiSignals.rows[0] ?? {}, { rationale: CANARY, [CANARY]: { deep: CANARY } });
  Object.assign(model.data.aiSignals.rows[1] ?? {}, { confidence: CANARY });
  const { lines, stop } = daemonHere({ ...environment, MIRROR_DIR: join(cwd, 'data') });
  const count = (sql: string) => {
    try {
      const db = new Database(file, { readonly: true, fileMustExist: true });
      const rows = db.prepare<[], number>(sql).pluck().get() ?? 0;
      db.close();
      return rows;
    } catch {
      return 0;
    }
  };
  await expect.poll(() => count("SELECT count(*) FROM walks WHERE status = 'complete'")).toBe(3);
  await expect.poll(() => count("SELECT count(*) FROM walks WHERE status = 'failed'")).toBe(2);

  expect(count(`SELECT count(*) FROM news WHERE note = 'Bearer [key]'`)).toBe(1);
  expect(count(`SELECT count(*) FROM ai_signals WHERE rationale = '[key]'`)).toBe(1);
  expect(count('SELECT count(*) FROM quarantine')).toBe(1);
  expect(count(`SELECT count(*) FROM requests WHERE request_id LIKE '%[key]%'`)).toBeGreaterThan(5);

  const queueFile = join(cwd, 'data/queue.json');
  await expect.poll(() => existsSync(queueFile)).toBe(true);
  const { prefix, socket } = JSON.parse(readFileSync(queueFile, 'utf8'));
  const redis = new Redis({ path: socket });
  redis.on('error', () => undefined);
  onTestFinished(() => redis.disconnect());
  const keys = await redis.keys(`${prefix}*`);
  for (const failed of ['smart-wallets', 'meme-signals'])
    expect(keys.filter((key) => key.includes(failed)).length).toBeGreaterThan(0);
  for (const key of keys) expect([key, found((await redis.dumpBuffer(key)) ?? '')]).toEqual([key, []]);

  for (const args of [
    ['status'],
    ['query', 'SELECT * FROM requests'],
    ['export', 'news', '-o', join(cwd, 'news.csv')],
  ]) {
    const { stdout, stderr } = await run(...args);
    expect(found(stdout + stderr)).toEqual([]);
  }
  await stop();
  const log = JSON.stringify(lines);
  expect(log).toContain('[key]');
  expect(found(log)).toEqual([]);
  const files = filesIn(cwd);
  expect(files.length).toBeGreaterThan(5);
  for (const name of files) expect([name, found(readFileSync(name))]).toEqual([name, []]);
});
