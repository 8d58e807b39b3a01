import { describe, expect, it } from 'vitest';
import { faults, type Row, when } from '../../../model-api/index.ts';
import { isoTime } from '../../../src/clock.ts';
import { both, editBefore, insert, remove } from '../../helpers/edits.ts';
import type { Bench } from '../../helpers/mirror-bench.ts';
import { setup } from '../../helpers/setup.ts';

const HOUR = 3_600_000;
const rowsOf = (bench: Bench) => bench.table('news').size;
const absent = (bench: Bench) => bench.sql('SELECT proofs FROM absences').map(({ proofs }) => proofs);

/** Mirrors so many rows and then takes some away upstream. */
async function setupGone(rows: number, ...gone: Parameters<typeof remove>): Promise<[Bench, Row[]]> {
  const bench = await setup({ rows });
  await bench.mirror('news');
  const before = bench.upstream('news').rows.slice();
  remove(...gone)(bench.upstream('news'));
  return [bench, before.slice(gone[0], gone[0] + (gone[1] ?? 1))];
}

/** Makes the next walk prove nothing, though it meets every row. */
const unproven = () => when({ from: 1, to: 1 }, faults.pagination({ offset: 1 }));

describe('a row that is gone upstream', () => {
  it('leaves the table after two proofs of its absence, not after one', async () => {
    const [bench] = await setupGone(50, 20);
    expect(await bench.mirror('news')).toMatchObject({ verdict: 'verified', deleted: 0, held: 0 });
    expect(rowsOf(bench)).toBe(50);
    expect(await bench.mirror('news')).toMatchObject({ verdict: 'verified', deleted: 1, held: 0 });
    expect(rowsOf(bench)).toBe(49);
    expect(absent(bench)).toEqual([]);
  });

  it('stays while walks prove nothing', async () => {
    const [bench] = await setupGone(50, 20);
    bench.model.faults = [when({}, faults.pagination({ offset: 1 }))];
    for (let walk = 0; walk < 3; walk += 1)
      expect(await bench.mirror('news')).toMatchObject({ verdict: 'union', deleted: 0 });
    expect(rowsOf(bench)).toBe(50);
    expect(absent(bench)).toEqual([]);
  });

  it('goes after two proofs though a walk between them proved nothing', async () => {
    const [bench] = await setupGone(50, 20);
    await bench.mirror('news');
    bench.model.faults = [unproven()];
    expect(await bench.mirror('news')).toMatchObject({ verdict: 'union' });
    expect(await bench.mirror('news')).toMatchObject({ verdict: 'verified', deleted: 1 });
  });

  it.each([
    ['proved its presence', 'verified', () => []],
    ['met it and proved nothing', 'union', () => [unproven()]],
  ])('stays where a walk between two proofs of absence %s', async (_, verdict, script) => {
    const [bench, gone] = await setupGone(50, 20);
    await bench.mirror('news');
    bench.upstream('news').rows.splice(20, 0, ...gone);
    bench.model.faults = script();
    expect(await bench.mirror('news')).toMatchObject({ verdict });
    expect(absent(bench)).toEqual([]);
    remove(20)(bench.upstream('news'));
    expect(await bench.mirror('news')).toMatchObject({ verdict: 'verified', deleted: 0 });
    expect(await bench.mirror('news')).toMatchObject({ verdict: 'verified', deleted: 1 });
  });

  it('stays where a walk between two proofs of absence met it and was given up', async () => {
    const [bench, gone] = await setupGone(50, 20);
    await bench.mirror('news');
    bench.upstream('news').rows.splice(20, 0, ...gone);
    bench.model.faults = [when({}, faults.pagination({ hasMore: true }))];
    await expect(bench.mirror('news')).rejects.toMatchObject({ kind: 'incomplete' });
    expect(absent(bench)).toEqual([]);
  });

  it.each(['key', '_key', 'job'])(
    'stays where a walk met it and proved nothing, though the API names a field of it %s',
    async (field) => {
      const [bench, gone] = await setupGone(50, 20);
      const { rows } = bench.upstream('news');
      rows.forEach((row, at) => {
        rows[at] = { ...row, [field]: `${at}` };
      });
      await bench.mirror('news');
      rows.splice(20, 0, ...gone);
      bench.model.faults = [unproven()];
      expect(await bench.mirror('news')).toMatchObject({ status: 'complete', verdict: 'union' });
      expect(rowsOf(bench)).toBe(50);
      expect(absent(bench)).toEqual([]);
    },
  );

  it('stays in the history, valid until the walk that removed it', async () => {
    const [bench, [gone]] = await setupGone(50, 20);
    const seenAt = isoTime(bench.clock.now());
    bench.clock.advance(HOUR);
    await bench.mirror('news');
    bench.clock.advance(HOUR);
    const removing = await bench.mirror('news');
    expect(bench.sql('SELECT * FROM news_history')).toEqual([
      expect.objectContaining({
        _key: gone?.['id'],
        _first_seen_at: seenAt,
        _valid_from: seenAt,
        _valid_to: isoTime(bench.clock.now()),
        _ended_by: 'delete',
      }),
    ]);
    expect(removing.finishedAt).toBe(isoTime(bench.clock.now()));
  });

  it('comes back as the same row, with the time when it was first seen', async () => {
    const [bench, gone] = await setupGone(50, 20);
    const firstSeen = isoTime(bench.clock.now());
    for (let walk = 0; walk < 2; walk += 1) await bench.mirror('news');
    bench.clock.advance(HOUR);
    bench.upstream('news').rows.unshift(...gone);
    await bench.mirror('news');
    expect(bench.table('news').get(String(gone[0]?.['id']))).toMatchObject({
      _first_seen_at: firstSeen,
      _changed_at: isoTime(bench.clock.now()),
    });
  });
});

describe('a snapshot of the usage', () => {
  it('is never removed, however many others follow', async () => {
    const bench = await setup();
    for (let poll = 0; poll < 5; poll += 1) {
      await bench.mirror('usage');
      bench.clock.advance(HOUR);
    }
    expect(bench.table('usage').size).toBe(5);
    expect(bench.sql('SELECT * FROM absences')).toEqual([]);
  });
});

describe('a removal', () => {
  it.each([
    ['a fifth of the table', 50, 10, false],
    ['more than a fifth of the table', 50, 11, true],
    ['more than a fifth, but fewer than ten rows', 30, 9, false],
    ['ten rows, and more than a fifth', 30, 10, true],
    ['the whole of a small table', 3, 3, true],
  ])('of %s', async (_, rows, gone, held) => {
    const [bench] = await setupGone(rows, 0, gone);
    await bench.mirror('news');
    const second = await bench.mirror('news');
    expect(second).toMatchObject(held ? { deleted: 0, held: gone } : { deleted: gone, held: 0 });
    expect(rowsOf(bench)).toBe(held ? rows : rows - gone);
    const third = await bench.mirror('news');
    expect(third).toMatchObject(held ? { deleted: gone, held: 0 } : { deleted: 0, held: 0 });
    expect(rowsOf(bench)).toBe(rows - gone);
  });

  it('that is held takes no row that came back meanwhile', async () => {
    const [bench, gone] = await setupGone(50, 0, 40);
    for (let walk = 0; walk < 2; walk += 1) await bench.mirror('news');
    bench.upstream('news').rows.push(...gone.slice(0, 25));
    expect(await bench.mirror('news')).toMatchObject({ deleted: 15, held: 0 });
    expect(rowsOf(bench)).toBe(35);
  });

  it('happens with the end of its walk or not at all', async () => {
    const [bench] = await setupGone(50, 0, 5);
    await bench.mirror('news');
    bench.tamper(
      `CREATE TRIGGER disk_fails BEFORE UPDATE OF finished_at ON walks BEGIN SELECT raise(ABORT, 'disk'); END`,
    );
    await expect(bench.mirror('news')).rejects.toThrow('disk');
    expect(rowsOf(bench)).toBe(50);
    expect(absent(bench)).toEqual([1, 1, 1, 1, 1]);
    expect(bench.sql('SELECT * FROM news_history')).toEqual([]);

    bench.tamper('DROP TRIGGER disk_fails');
    expect(await bench.mirror('news')).toMatchObject({ id: 3, deleted: 5 });
  });

  it('counts one walk as one proof, however often it is interrupted at its end', async () => {
    const [bench] = await setupGone(50, 20);
    bench.tamper(
      `CREATE TRIGGER disk_fails BEFORE UPDATE OF finished_at ON walks BEGIN SELECT raise(ABORT, 'disk'); END`,
    );
    for (let walk = 0; walk < 3; walk += 1) await expect(bench.mirror('news')).rejects.toThrow('disk');
    bench.tamper('DROP TRIGGER disk_fails');
    expect(await bench.mirror('news')).toMatchObject({ id: 2, deleted: 0 });
    expect(await bench.mirror('news')).toMatchObject({ id: 3, deleted: 1 });
  });

  it('leaves out a row that a walk meets after it was interrupted at its end', async () => {
    const [bench, gone] = await setupGone(150, 120);
    await bench.mirror('news');
    bench.tamper(
      `CREATE TRIGGER disk_fails BEFORE UPDATE OF finished_at ON walks BEGIN SELECT raise(ABORT, 'disk'); END`,
    );
    await expect(bench.mirror('news')).rejects.toThrow('disk');
    bench.tamper('DROP TRIGGER disk_fails');
    bench.upstream('news').rows.splice(120, 0, ...gone);
    expect(await bench.mirror('news')).toMatchObject({ id: 3, deleted: 0 });
    expect(absent(bench)).toEqual([]);
  });

  it('of rows that come and go is right whatever the walks meet', async () => {
    const bench = await setup({ rows: 250 });
    await bench.mirror('news');
    editBefore(bench, 'news', { 2: remove(10, 20), 3: insert(0, 5), 5: both(remove(40, 3), insert(-1, 2)) });
    await bench.mirror('news');
    for (let walk = 0; walk < 3; walk += 1) await bench.mirror('news');
    const { rows } = bench.upstream('news');
    expect([...bench.table('news').keys()].sort()).toEqual(rows.map((row) => String(row['id'])).sort());
  });
});
