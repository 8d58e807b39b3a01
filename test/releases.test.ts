import { expect, test } from 'vitest';
import { withReleases } from '../src/base/releases.ts';

test('what was opened last is released first, and what goes together at once', async () => {
  const order: string[] = [];
  const slow = async () => {
    await new Promise(setImmediate);
    order.push('slow');
  };
  const result = await withReleases(async ({ add }) => {
    add(() => order.push('first'));
    add(slow, () => order.push('quick'));
    add(() => order.push('last'));
    return 'done';
  });
  expect([result, order]).toEqual(['done', ['last', 'quick', 'slow', 'first']]);
});

test('every release runs though others throw, and the first error is told', async () => {
  const order: string[] = [];
  const failing = (name: string) => () => {
    order.push(name);
    throw new Error(name);
  };
  const work = withReleases(async ({ add }) => {
    add(failing('lock'));
    add(failing('queue'), () => order.push('commands'));
    add(() => Promise.reject(new Error('face')));
  });
  await expect(work).rejects.toThrow('face');
  expect(order).toEqual(['queue', 'commands', 'lock']);
});

test('the error of the work itself goes before those of the releases', async () => {
  const order: string[] = [];
  const work = withReleases(async ({ add }) => {
    add(() => {
      order.push('released');
      throw new Error('of the release');
    });
    throw new Error('of the work');
  });
  await expect(work).rejects.toThrow('of the work');
  expect(order).toEqual(['released']);
});
