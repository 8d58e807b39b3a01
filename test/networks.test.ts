import { expect, test } from 'vitest';
import { isLoopback, parseNetwork } from '../src/networks.ts';

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

test.each([
  ['192.0.2.7', '192.0.2.7', 32],
  ['10.0.0.0/8', '10.0.0.0/8', 8],
  ['2001:DB8::/32', '2001:db8::/32', 32],
  ['::/0', '::/0', 0],
])('%s is a network', (text, network, bits) => {
  expect(parseNetwork(text)).toEqual({ network, bits });
});

test.each([
  ...['', 'localhost', '10.0.0.0/33', '10.0.0.0/-1', '10.0.0.0/', '10.0.0/8', '010.0.0.1', '::/129'],
  ...['10.0.0.0/8,11.0.0.0/8', 'fe80::1%eth0', ' 10.0.0.1', '10.0.0.0/255.0.0.0'],
])('%j is no network', (text) => {
  expect(parseNetwork(text)).toBeUndefined();
});
