/** Addresses and networks from which a key may be used. */

import { BlockList, isIP, isIPv6 } from 'node:net';

/** `192.0.2.7`, `10.0.0.0/8`, `2001:db8::/32`. @throws Error whose message says what is expected. */
export function parseNetwork(text: string): string {
  const [, address = '', bits] = /^([0-9a-f.:]+)(?:\/(\d{1,3}))?$/i.exec(text) ?? [];
  const family = isIP(address);
  if (family === 0 || (bits !== undefined && Number(bits) > (family === 6 ? 128 : 32)))
    throw new Error('an address or a network, such as 192.0.2.7, 10.0.0.0/8 or 2001:db8::/32');
  return text.toLowerCase();
}

/** @returns whether an address lies in one of the networks; IPv4 is known also where it is mapped into IPv6. */
export function networksOf(networks: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const network of networks) {
    const [address = '', bits] = network.split('/');
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  return (address) => {
    // A link-local address may name its interface.
    const [bare = ''] = address.split('%');
    const family = isIP(bare);
    return family !== 0 && list.check(bare, family === 6 ? 'ipv6' : 'ipv4');
  };
}
