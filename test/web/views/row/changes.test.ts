/** What changed between two versions of a row. */

import { describe, expect, test } from 'vitest';
import { changesBetween, type Leaves, leavesOf, markDifference } from '../../../../web/views/row/life.ts';

const changes = (before: string, after: string) =>
  changesBetween(leavesOf(before) as Leaves, leavesOf(after) as Leaves).map(
    ({ place, before: old, after: young }) => [place, old?.text ?? null, young?.text ?? null],
  );

describe('the values of a row', () => {
  test('each has its place, also within objects and lists', () => {
    const leaves = leavesOf('{"a":{"b":[1,{"c":null}]},"d":"x","e":[],"f":{}, "g":true}');
    expect([...(leaves ?? [])].map(([place, { text }]) => [place, text])).toEqual([
      ['a.b[0]', '1'],
      ['a.b[1].c', 'null'],
      ['d', 'x'],
      ['e', '[]'],
      ['f', '{}'],
      ['g', 'true'],
    ]);
  });

  test('a name that is no word is quoted in its place, so that no name looks like a path', () => {
    const leaves = leavesOf('{"<script>":1,"a.b":2,"\\"":3,"":4}');
    expect([...(leaves ?? new Map()).keys()]).toEqual(['["<script>"]', '["a.b"]', '["\\""]', '[""]']);
  });

  test('numbers keep every digit', () => {
    expect(changes('{"n":9007199254740993}', '{"n":9007199254740992}')).toEqual([
      ['n', '9007199254740993', '9007199254740992'],
    ]);
  });

  test.each(['', '{', '{"a":1}}', '[1,]', '{"a" 1}', 'nothing', '{"a":wrong}', '{"a":1 "b":2}'])(
    '%j is no JSON',
    (text) => expect(leavesOf(text)).toBeNull(),
  );

  test('what is nested too deeply, or holds too much, is not taken apart', () => {
    expect(leavesOf('['.repeat(100_000))).toBeNull();
    expect(leavesOf(`[${'1,'.repeat(6_000)}1]`)).toBeNull();
  });

  test('texts with letters that JSON escapes are read as they are meant', () => {
    expect(leavesOf('{"a":"\\u0000\\n\\ud83d\\ude00"}')?.get('a')?.text).toBe('\u0000\n😀');
  });
});

describe('changes', () => {
  test('what changed, came and went is told, and nothing else', () => {
    expect(changes('{"same":1,"price":10,"gone":"x"}', '{"price":11,"same":1,"new":null}')).toEqual([
      ['price', '10', '11'],
      ['new', null, 'null'],
      ['gone', 'x', null],
    ]);
  });

  test('a list is one value, whatever came or went in it', () => {
    expect(changes('{"tags":[],"a":[{"b":1}]}', '{"tags":["x","y"],"a":[{"b":1,"c":2},3]}')).toEqual([
      ['tags', '[]', 'x · y'],
      ['a', 'b: 1', 'b: 1, c: 2 · 3'],
    ]);
    expect(changes('{"a[0]":[1,2]}', '{"a[0]":[1]}')).toEqual([['["a[0]"]', '1 · 2', '1']]);
  });

  test('a number and the text of the same digits differ', () => {
    expect(changes('{"a":1}', '{"a":"1"}')).toEqual([['a', '1', '1']]);
  });

  test('another order of members is no change', () => {
    expect(changes('{"a":1,"b":2}', '{"b":2, "a":1}')).toEqual([]);
  });
});

describe('two texts', () => {
  test('differ in their middle', () => {
    expect(markDifference('slips 5% today', 'slips 7.1% today')).toEqual({
      before: ['slips ', '5', '% today'],
      after: ['slips ', '7.1', '% today'],
    });
  });

  test('are not marked where they have little in common', () => {
    expect(markDifference('HOLD', 'BUY')).toBeNull();
  });

  test('are never parted within a letter', () => {
    expect(markDifference('value 😀 here', 'value 😁 here')?.before).toEqual(['value ', '😀', ' here']);
  });
});
