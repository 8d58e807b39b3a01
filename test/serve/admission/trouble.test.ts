/** Calls go on, or are refused with 503, where the database is in trouble. */

import { readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Permit, refusal } from '../../../src/serve/service/admission.ts';
import { serveFile } from '../../../src/serve/service/database.ts';
import { holderNote } from '../../../src/store/read.ts';
import { holdWriteLock, limitsOf, outcome, setupAdmission } from '../support.ts';

describe('trouble with the database', () => {
  test('that is gone: every call is refused with 503, and it is told once', () => {
    const { create, call, dir, clock, told } = setupAdmission();
    const { key } = create();
    const before = call(key) as Permit;
    expect(outcome(before)).toBe('1000000000 left');
    renameSync(serveFile(dir), join(dir, 'elsewhere.db'));
    clock.advance(1_000);
    expect([call(key), call(key)]).toEqual(Array(2).fill(refusal('unavailable', 5_000)));
    expect(before.giveBack(), 'what was let in is answered').toMatchObject({ limit: 1_000_000_000 });
    before.leave();
    expect(told.map((trouble) => trouble?.message)).toEqual([expect.stringContaining('is gone')]);
    for (const part of ['', '-wal', '-shm']) rmSync(`${serveFile(dir)}${part}`, { force: true });
  });

  test('two processes do not grant the same twice: the second is told who serves', () => {
    const { dir } = setupAdmission();
    expect(() => setupAdmission(dir)).toThrow(
      expect.objectContaining({
        kind: 'incomplete',
        message: expect.stringContaining(`process ${process.pid} serves from there already`),
      }),
    );
  });

  test('who serves may leave a word for those who look, and is gone with its end', () => {
    const { dir, admission } = setupAdmission();
    admission().note('http://127.0.0.1:4020');
    expect(holderNote(dir, 'serve')).toBe('http://127.0.0.1:4020');
    admission().close();
    expect(holderNote(dir, 'serve')).toBe(null);
  });

  test('another that writes for long: calls go on, and counts are written when it is done', () => {
    const { create, call, dir, told, write, restart } = setupAdmission();
    const { key } = create({}, limitsOf('5/1h'));
    call(key);
    const { connection, release } = holdWriteLock(dir);
    call(key);
    write();
    expect(told).toEqual([expect.objectContaining({ kind: 'incomplete' })]);
    expect(outcome(call(key))).toBe('2 left');
    write();
    expect(told).toHaveLength(1);
    release();
    write();
    expect(told).toEqual([expect.anything(), null]);
    restart();
    expect(outcome(call(key))).toBe('1 left');
    connection.close();
  });

  test('a key is in no file, nor in what is told', () => {
    const { create, call, dir, write } = setupAdmission();
    const { key } = create({}, limitsOf('5/1h'));
    call(key);
    write();
    for (const part of ['', '-wal', '-shm'])
      expect(readFileSync(`${serveFile(dir)}${part}`, 'latin1')).not.toContain(key.slice(6, 20));
  });
});
