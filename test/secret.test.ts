import { format, inspect } from 'node:util';
import { expect, test } from 'vitest';
import { secret } from '../src/secret.ts';

const value = 'canary-7c1f';
const wrapped = secret(value);

test('only who asks for it gets it', () => {
  expect(wrapped.reveal()).toBe(value);
});

test.each([
  ['a string', () => `${wrapped}`],
  ['JSON', () => JSON.stringify({ headers: { wrapped } })],
  ['a look at it', () => inspect({ wrapped }, { depth: null, showHidden: true })],
  ['a formatted line', () => format('%s %o %j', wrapped, wrapped, wrapped)],
  ['its members', () => inspect({ ...wrapped }, { showHidden: true })],
  ['an error', () => inspect(new Error('failed', { cause: wrapped }))],
])('it does not show in %s', (_, show) => {
  expect(show()).not.toContain(value);
});
