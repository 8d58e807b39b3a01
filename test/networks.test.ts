import { expect, test } from 'vitest';
import { isLoopback, networksOf, parseNetwork } from '../src/base/networks.ts';

test('this machine is told from others', () => {
  const own = [
    ...['localhost', 'localhost.', '127.0.0.1', '127.255.0.9', '::1', '[::1]', '0:0:0:0:0:0:0:1'],
    ...['::ffff:127.0.0.1', '[::ffff:7f00:1]'],
  ];
  const others = [
    ...['192.0.2.7', '::ffff:192.0.2.7', '[2001:db8::1]', '0.0.0.0', '::', '1127.0.0.1', ''],
    ...[
      '127.example.com',
      '127.0.0.1.example.com',
      'localhost.example.com',
      'not-localhost',
      '::12',
      '[::ffff:a00:1]',
    ],
  ];
  expect([...own, ...others].filter(isLoopback)).toEqual(own);
});

test.each<[string, string?, number?]>([
  ['192.0.2.7', '192.0.2.7', 32],
  ['10.0.0.0/8', '10.0.0.0/8', 8],
  ['2001:DB8::/32', '2001:db8::/32', 32],
  ['::/0', '::/0', 0],
  ...['', 'localhost', '10.0.0.0/33', '10.0.0.0/-1', '10.0.0.0/', '10.0.0/8', '010.0.0.1', '::/129'].map(
    noNetwork,
  ),
  ...['10.0.0.0/8,11.0.0.0/8', 'fe80::1%eth0', ' 10.0.0.1', '10.0.0.0/255.0.0.0'].map(noNetwork),
])('%j is the network %s', (text, network, bits) => {
  expect(parseNetwork(text)).toEqual(network && { network, bits });
});

function noNetwork(text: string): [string] {
  return [text];
}

const allows = (networks: string[], address: string) => networksOf(networks)(address);

test.each([
  ['an address', '192.0.2.7', '192.0.2.7', '192.0.2.8'],
  ['a network', '10.0.0.0/8', '10.255.0.1', '11.0.0.1'],
  ['an address of IPv6', '2001:DB8::7', '2001:db8::7', '2001:db8::8'],
  ['a network of IPv6', '2001:db8::/32', '2001:db8:1::1', '2001:db9::1'],
  ['one of IPv4 that came over IPv6', '192.0.2.0/24', '::ffff:192.0.2.1', '::ffff:192.0.3.1'],
  ['a link, whatever the interface', 'fe80::/10', 'fe80::1%eth0', 'fd00::1'],
  ['every address of IPv4, and of IPv4 alone', '0.0.0.0/0', '198.51.100.1', '2001:db8::1'],
  ['every address of IPv6, and of IPv6 alone', '::/0', '2001:db8::1', '198.51.100.1'],
  ['a network of IPv4 within IPv6', '::ffff:192.0.2.0/120', '192.0.2.9', '192.0.3.9'],
  ['an address of IPv4 within IPv6', '::ffff:192.0.2.9', '192.0.2.9', '192.0.2.8'],
])('a key may be used from %s', (_, network, inside, outside) => {
  expect([allows([network], inside), allows([network], outside)]).toEqual([true, false]);
});

test('what is no address is in no network', () => {
  for (const address of ['', 'localhost', '010.0.0.1', '10.0.0', '10.0.0.1:80'])
    expect([address, allows(['0.0.0.0/0', '::/0'], address)]).toEqual([address, false]);
});
