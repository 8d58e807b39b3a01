import { expect, test } from 'vitest';
import { byteCache } from '../src/byte-cache.ts';

test('what was not asked for longest goes once there is no room, by its bytes and some beside', () => {
  const kept = byteCache<Buffer>(3_600, ({ length }) => length);
  for (const name of ['one', 'two', 'three']) kept.set(name, Buffer.alloc(500));
  expect(kept.get('one')?.length).toBe(500);
  kept.set('large', Buffer.alloc(1_000));
  expect([...kept.keys()].sort()).toEqual(['large', 'one', 'three']);
});

test('a long name takes its bytes, too', () => {
  const kept = byteCache<Buffer>(3_500, ({ length }) => length);
  for (const name of ['a', 'b', 'c']) kept.set(name.repeat(1_000), Buffer.alloc(10));
  expect([...kept.keys()]).toHaveLength(2);
});

test('what is larger than all the room is not kept, and costs nothing else its place', () => {
  const kept = byteCache<Buffer>(2_000, ({ length }) => length);
  kept.set('small', Buffer.alloc(10));
  kept.set('huge', Buffer.alloc(5_000));
  expect([...kept.keys()]).toEqual(['small']);
});
