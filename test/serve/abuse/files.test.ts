/** What is done to the files of the service while it serves: clear answers meanwhile, and as before when it is over. */

import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { Database } from '../../../src/store/sqlite.ts';
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
  'replaced by an empty file': (path) => writeFileSync(path, ''),
  'replaced by a folder': (path) => mkdirSync(path),
  'replaced by a link to another file': (path) => symlinkSync('/etc/passwd', path),
  'replaced by a link to itself': (path) => symlinkSync(path, path),
};

async function expectUnavailable(abused: Abused): Promise<void> {
  const answer = await abused.get(NEWS);
  expect([answer.status, errorIn(abused, answer)]).toEqual([503, 'service_unavailable']);
  expect(answer.head).toMatch(/^retry-after: [1-9]\d*\r$/im);
  const health = await abused.get('/healthz');
  expect(health.status).toBe(200);
}

describe.each(['mirror.db', 'serve.db'] as const)('%s', (file) => {
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

/** What nobody needs a key for. */
const readiness = async ({ get }: Abused) => {
  const [ready, metrics] = [await get('/readyz'), await get('/metrics', ['Host: localhost'])];
  const keysUp = /^market_mirror_keys_up (\d)$/m.exec(metrics.body)?.[1];
  return { status: ready.status, keys: JSON.parse(ready.body).keys, keysUp };
};

describe('serve.db', () => {
  const quiet = { settings: { schedules: {} } };

  test('gone: the service says that it is not ready before anybody comes with a key, and when it is again', async () => {
    const abused = await setupAbuse(quiet);
    const { dir, clock } = abused.serve.bench;
    expect(await readiness(abused)).toEqual({ status: 200, keys: 'readable', keysUp: '1' });
    const bringBack = takeAway(dir, 'serve.db');
    clock.advance(A_LOOK);
    expect(await readiness(abused)).toEqual({ status: 503, keys: 'unreadable', keysUp: '0' });
    bringBack();
    clock.advance(A_LOOK);
    expect(await readiness(abused)).toEqual({ status: 200, keys: 'readable', keysUp: '1' });
  });

  test('replaced by its backup: the keys of the backup count, and no others', async () => {
    const abused = await setupAbuse(quiet);
    const { get, serve } = abused;
    const { dir, clock } = serve.bench;
    const path = join(dir, 'serve.db');
    const copy = join(dir, 'copy.db');
    new Database(path).exec(`VACUUM INTO '${copy}'`).close();
    const later = serve.issue({ name: 'later' }).key;
    const asLater = () => get(NEWS, ['Host: localhost', `Authorization: Bearer ${later}`]);
    expect([(await get(NEWS)).status, (await asLater()).status]).toEqual([200, 200]);
    renameSync(copy, path);
    clock.advance(A_LOOK);
    expect([(await get(NEWS)).status, (await asLater()).status]).toEqual([200, 401]);
    expect(await readiness(abused)).toEqual({ status: 200, keys: 'readable', keysUp: '1' });
    // What the one before had not copied from its log into its file is nothing of this one.
    const names = new Database(path, { readonly: true }).prepare('SELECT name FROM keys').pluck().all();
    expect(names).toEqual(['desk']);
  });
});

describe.each(['mirror.db', 'serve.db'] as const)('%s with damaged pages', (file) => {
  test('answers what it still can, else 503, and pages again once it is mended', async () => {
    const abused = await setupAbuse({ rows: 600 });
    const { bench } = abused.serve;
    const path = join(bench.dir, file);
    new Database(path).exec('PRAGMA wal_checkpoint(TRUNCATE)').close();
    const whole = readFileSync(path);
    const pages = () => {
      const offsets = Array.from({ length: 6 }, (_, at) => at * 100);
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
    expect((await pages()).map(({ status }) => status)).toEqual(Array(6).fill(200));
    expectNothingKept(abused);
  });
});
