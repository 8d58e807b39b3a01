/** What is done to the files of the service while it serves: clear answers meanwhile, and as before when it is over. */

import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Failure } from '../../../src/base/errors.ts';
import { Database } from '../../../src/store/sqlite.ts';
import { memoryFolder } from '../../helpers/folder.ts';
import { openBench } from '../../helpers/mirror-bench.ts';
import { serveMirror } from '../../helpers/serve-bench.ts';
import { getter } from '../client.ts';
import { type Abused, errorIn, expectNothingKept, NEWS, setupAbuse } from './support.ts';

/** The service looks once a second. */
const A_LOOK = 1_000;

const parts = ['', '-wal', '-shm'];

type File = 'mirror.db' | 'serve.db';

/** All that SQLite keeps of a database, to be put back. */
function takeAway(dir: string, file: File): () => void {
  const present = parts.map((part) => join(dir, `${file}${part}`)).filter((path) => existsSync(path));
  for (const path of present) renameSync(path, `${path}.away`);
  return () => {
    for (const part of parts) rmSync(join(dir, `${file}${part}`), { recursive: true, force: true });
    for (const path of present) renameSync(`${path}.away`, path);
  };
}

/** What is put in the place of a database that was taken away. */
const attacks: Record<string, (path: string) => void> = {
  'taken away': () => undefined,
  'replaced by nonsense': (path) => writeFileSync(path, 'nonsense '.repeat(10_000)),
  'replaced by a folder': (path) => mkdirSync(path),
  'replaced by a link to another file': (path) => symlinkSync('/etc/passwd', path),
};

async function expectUnavailable(abused: Abused): Promise<void> {
  const answer = await abused.get(NEWS);
  expect([answer.status, errorIn(abused, answer)]).toEqual([503, 'service_unavailable']);
  expect(answer.head).toMatch(/^retry-after: [1-9]\d*\r$/im);
  const health = await abused.get('/healthz');
  expect(health.status).toBe(200);
}

describe('mirror.db', () => {
  const file = 'mirror.db';

  test.each(Object.entries(attacks))('%s: 503 meanwhile, and pages again when it is back', async (_, put) => {
    const abused = await setupAbuse();
    const { bench } = abused.serve;
    const before = await abused.get(NEWS);
    expect(before.status).toBe(200);
    const bringBack = takeAway(bench.dir, file);
    put(join(bench.dir, file));
    bench.clock.advance(A_LOOK);
    for (const _ of ['at first', 'and again']) await expectUnavailable(abused);
    bringBack();
    bench.clock.advance(A_LOOK);
    expect(await abused.get(NEWS)).toMatchObject({ status: 200, body: before.body });
    expectNothingKept(abused);
  });
});

const seqIn = (head: string) => /^x-mirror-seq: (\d+)/im.exec(head)?.[1];

describe('the mirror', () => {
  test('of another, put in its place, is what is served from then on', async () => {
    const abused = await setupAbuse();
    const { get, serve } = abused;
    // What is read twice is kept.
    const [before] = [await get(NEWS), await get(NEWS)];
    const other = (await setupAbuse({ rows: 3, seed: 2 })).serve.bench;
    const [row] = other.sql<{ _body: string }>('SELECT _body FROM news LIMIT 1');
    takeAway(serve.bench.dir, 'mirror.db');
    new Database(join(other.dir, 'mirror.db'))
      .exec(`VACUUM INTO '${join(serve.bench.dir, 'mirror.db')}'`)
      .close();
    serve.bench.clock.advance(A_LOOK);
    const { status, head, body } = await get(NEWS);
    expect(status).toBe(200);
    expect(seqIn(head), 'only the mirror is another').toBe(seqIn(before.head));
    expect(JSON.parse(body).pagination.total).toBe(3);
    expect(body).toContain(row?._body);
  });

  test('into which somebody writes for long: pages as they were committed, meanwhile', async () => {
    const abused = await setupAbuse();
    const before = await abused.get(NEWS);
    const other = new Database(join(abused.serve.bench.dir, 'mirror.db'));
    other.exec('BEGIN EXCLUSIVE; DELETE FROM _news_rows');
    abused.serve.bench.clock.advance(A_LOOK);
    expect(await abused.get(NEWS)).toMatchObject({ status: 200, body: before.body });
    other.exec('ROLLBACK');
    other.close();
  });
});

test('a mirror that somebody locks for himself alone: 503 meanwhile, and nothing of this machine; then pages', async () => {
  const bench = await openBench({ rows: 20, walked: ['news'] });
  onTestFinished(bench.close);
  const dir = memoryFolder();
  new Database(join(bench.dir, 'mirror.db')).exec(`VACUUM INTO '${join(dir, 'mirror.db')}'`).close();
  const other = new Database(join(dir, 'mirror.db'));
  other.pragma('journal_mode = wal');
  other.pragma('locking_mode = exclusive');
  other.exec('BEGIN EXCLUSIVE; DELETE FROM quarantine');
  const { url, key, close } = await serveMirror(dir, bench.jobs, bench.clock);
  onTestFinished(close);
  const get = getter(url, key);
  const { status, headers, bytes } = await get(NEWS);
  expect([status, Number(headers['retry-after'])]).toEqual([503, expect.any(Number)]);
  expect(String(bytes)).not.toContain(dir);
  expect([(await get('/readyz')).status, (await get('/healthz')).status]).toEqual([503, 200]);
  other.exec('ROLLBACK');
  other.close();
  bench.clock.advance(A_LOOK);
  expect((await get(NEWS)).status).toBe(200);
});

/** What nobody needs a key for. */
const readiness = async ({ get }: Abused) => {
  const [ready, metrics] = [await get('/readyz'), await get('/metrics', ['Host: localhost'])];
  const keysUp = /^market_mirror_keys_up (\d)$/m.exec(metrics.body)?.[1];
  return { status: ready.status, keys: JSON.parse(ready.body).keys, keysUp };
};

test.each(Object.entries(attacks))(
  'serve.db %s: 503 from then on, the service is not ready before anybody comes with a key, and ends to begin anew',
  async (_, put) => {
    const lost: Failure[] = [];
    const abused = await setupAbuse({ settings: { schedules: {} }, onLost: (why) => lost.push(why) });
    const { dir, clock } = abused.serve.bench;
    expect((await abused.get(NEWS)).status).toBe(200);
    expect(await readiness(abused)).toEqual({ status: 200, keys: 'readable', keysUp: '1' });
    const bringBack = takeAway(dir, 'serve.db');
    put(join(dir, 'serve.db'));
    clock.advance(A_LOOK);
    expect(await readiness(abused)).toEqual({ status: 503, keys: 'unreadable', keysUp: '0' });
    for (const _ of ['at first', 'and again']) await expectUnavailable(abused);
    bringBack();
    clock.advance(A_LOOK);
    await expectUnavailable(abused);
    expect(lost).toMatchObject([{ kind: 'disk', message: expect.stringContaining('serve.db') }]);
    expectNothingKept(abused);
  },
);

describe.each(['mirror.db', 'serve.db'] as const)('%s with damaged pages', (file) => {
  test('answers what it still can, else 503, and pages again once it is mended', async () => {
    const abused = await setupAbuse({ rows: 300 });
    const { bench } = abused.serve;
    const path = join(bench.dir, file);
    new Database(path).exec('PRAGMA wal_checkpoint(TRUNCATE)').close();
    const whole = readFileSync(path);
    const pages = () => {
      const offsets = [0, 100, 200];
      return Promise.all(offsets.map((offset) => abused.get(`${NEWS}?limit=100&offset=${offset}`)));
    };
    const damaged = whole.map((byte, at) => (at < 4_096 ? byte : byte ^ 0x55));
    writeFileSync(path, damaged, { flag: 'r+' });
    const answers = await pages();
    bench.clock.advance(A_LOOK);
    answers.push(...(await pages()));
    const refused = answers.filter(({ status }) => status !== 200);
    expect(refused.length).toBeGreaterThan(0);
    for (const answer of refused)
      expect([answer.status, errorIn(abused, answer)]).toEqual([503, 'service_unavailable']);
    expect((await abused.get('/healthz')).status).toBe(200);
    expect(abused.serve.log()).toContain(file);
    if (file === 'serve.db')
      expect(await readiness(abused)).toEqual({ status: 503, keys: 'unreadable', keysUp: '0' });

    writeFileSync(path, whole, { flag: 'r+' });
    bench.clock.advance(A_LOOK);
    expect((await pages()).map(({ status }) => status)).toEqual([200, 200, 200]);
    expectNothingKept(abused);
  });
});
