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

test('its digest tells it from others, with the same salt alone, and is too short to confirm a guess', () => {
  expect(wrapped.digest('salt')).toBe(secret(value).digest('salt'));
  expect(wrapped.digest('salt')).not.toBe(secret(`${value}!`).digest('salt'));
  expect(wrapped.digest('salt')).not.toBe(wrapped.digest('another'));
  expect(wrapped.digest('salt')).toMatch(/^[0-9a-f]{4}$/);
});
