import { expect, test } from 'vitest';
import { isLoopback } from '../src/loopback.ts';

test.each(['localhost', '127.0.0.1', '127.255.0.9', '::1', '[::1]', '::ffff:127.0.0.1'])(
  '%s is this machine',
  (host) => {
    expect(isLoopback(host)).toBe(true);
  },
);

test.each([
  ...['192.0.2.7', '::ffff:192.0.2.7', '[2001:db8::1]', '0.0.0.0', '::', '1127.0.0.1', ''],
  ...['127.example.com', '127.0.0.1.example.com', 'localhost.example.com', 'not-localhost', '::12'],
])('%j may be another', (host) => {
  expect(isLoopback(host)).toBe(false);
});
