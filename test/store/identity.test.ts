import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { Database } from '../../src/store/sqlite.ts';
import { setup } from '../helpers/setup.ts';
import { idsOf, setupSync, truth } from '../helpers/sync-bench.ts';

/** Ways in which a mirror can be lost from under those who have it open. */
const losses: Record<string, (file: string) => void> = {
  deleted: (file) => {
    for (const path of [file, `${file}-wal`, `${file}-shm`]) rmSync(path);
  },
  'moved away': (file) => renameSync(file, `${file}.moved`),
  'replaced by a copy': (file) => {
    copyFileSync(file, `${file}.copy`);
    renameSync(`${file}.copy`, file);
  },
  'left without its write-ahead log': (file) => rmSync(`${file}-wal`),
  'gone with its folder': (file) => rmSync(dirname(file), { recursive: true }),
};

const everythingIn = (folder: string) =>
  existsSync(folder) ? (readdirSync(folder, { recursive: true }) as string[]).sort() : [];

describe.each(Object.entries(losses))('a mirror that is %s while it is open', (_name, lose) => {
  test('is noticed as a walk ends and as one begins, and nothing is made in its place', async () => {
    const { dir, store, model, mirror, job } = await setup({ rows: 130 });
    expect(store.lost()).toBeUndefined();
    let calls = 0;
    let left: string[] = [];
    model.beforeAnswer = () => {
      calls += 1;
      if (calls !== 2) return;
      lose(store.file);
      left = everythingIn(dir);
    };
    const lost = {
      kind: 'disk',
      message: expect.stringMatching(/mirror\.db.* while it was in use: [^\n]*$/),
    };
    await expect(mirror('ai-signals')).rejects.toMatchObject(lost);
    expect(store.lost()).toMatchObject(lost);
    expect(() => store.openWalk(job('news'))).toThrow(expect.objectContaining(lost));
    store.close();
    expect(everythingIn(dir).filter((path) => !left.includes(path))).toEqual([]);
  });
});

test('a mirror.id that a kill or a power cut has left empty gets the name of its mirror again', async () => {
  const bench = await setup();
  const { name } = bench.store;
  bench.reopen(() => writeFileSync(join(bench.dir, 'mirror.id'), ''));
  expect([name, readFileSync(join(bench.dir, 'mirror.id'), 'utf8')]).toEqual([bench.store.name, `${name}\n`]);
  expect(name).toMatch(/^[\da-f-]{36}$/);
});

describe('where mirror.id tells that there was a mirror', () => {
  /** Every command that opens the mirror. */
  const commands = [
    ['sync'],
    ['start'],
    ['quarantine', 'retry'],
    ['quarantine'],
    ['doctor'],
    ['status'],
    ['export', 'news'],
    ['backup', 'copy.db'],
  ];

  test('every command ends with 74 and says what to do, and makes none', async () => {
    const { run, file, model } = await setupSync({ rows: 5 });
    const folder = dirname(file);
    mkdirSync(folder);
    writeFileSync(join(folder, 'mirror.id'), 'a name\n');
    for (const args of commands) {
      const { code, stdout, stderr } = await run(args);
      expect([args, code]).toEqual([args, 74]);
      expect(stdout + stderr).toMatch(
        /mirror\.db is gone: .*restore a backup; to begin anew.*delete \S*mirror\.id/,
      );
      expect(everythingIn(folder)).toEqual(['mirror.id']);
    }
    expect(model.calls).toEqual([]);
  });

  test('a mirror is begun anew once the name is deleted, and a backup can be put back', async () => {
    const { sync, run, file, model, cwd } = await setupSync();
    expect((await sync('ai-signals')).code).toBe(0);
    const name = readFileSync(join(dirname(file), 'mirror.id'), 'utf8');
    expect((await run(['backup', join(cwd, 'copy.db')])).code).toBe(0);
    rmSync(file);
    expect((await sync('ai-signals')).code).toBe(74);
    copyFileSync(join(cwd, 'copy.db'), file);
    expect((await sync('ai-signals')).code).toBe(0);
    expect(readFileSync(join(dirname(file), 'mirror.id'), 'utf8')).toBe(name);
    for (const path of [file, join(dirname(file), 'mirror.id')]) rmSync(path);
    expect((await sync('ai-signals')).code).toBe(0);
    expect(readFileSync(join(dirname(file), 'mirror.id'), 'utf8')).not.toBe(name);
    expect(idsOf(file)).toEqual(truth(model));
  });

  test.each([
    ['an empty file', (file: string) => writeFileSync(file, '')],
    [
      'another database',
      (file: string) => {
        const other = new Database(file);
        other.exec('CREATE TABLE notes (text)');
        other.close();
      },
    ],
  ])('%s in its place is left as it is: 74', async (_name, make) => {
    const { sync, run, file } = await setupSync({ rows: 5 });
    expect((await sync('usage')).code).toBe(0);
    rmSync(file);
    make(file);
    const before = readFileSync(file);
    for (const args of [['sync'], ['status'], ['doctor']]) {
      const { code, stdout, stderr } = await run(args);
      expect(code).toBe(74);
      expect(stdout + stderr).toContain('is not the mirror that was here');
    }
    expect(readFileSync(file).equals(before)).toBe(true);
  });
});

describe('a symbolic link in the place of the mirror', () => {
  test('is not followed where it leads nowhere: 74, and nothing is made there', async () => {
    const { run, file, cwd } = await setupSync({ rows: 5 });
    mkdirSync(dirname(file));
    symlinkSync(join(cwd, 'elsewhere.db'), file);
    for (const args of [['sync'], ['status'], ['doctor']]) {
      const { code, stdout, stderr } = await run(args);
      expect(code).toBe(74);
      expect(stdout + stderr).toContain('is a symbolic link that leads nowhere');
    }
    expect(existsSync(join(cwd, 'elsewhere.db'))).toBe(false);
    expect(everythingIn(dirname(file))).toEqual(['mirror.db']);
  });
});
