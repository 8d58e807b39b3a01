/** Hosts and networks: which host is this machine, how a network is written, and what lies in it. */

import { BlockList, isIP, isIPv6 } from 'node:net';
import { LRUCache } from 'lru-cache';

/**
 * Whether nothing but this machine reaches it.
 * @param host a name or an address, in lower case, also as in a URL (`[::1]`, `[::ffff:7f00:1]`) and as of a socket (`::ffff:127.0.0.1`).
 */
export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
  return bare === 'localhost' || loopback.check(bare, isIP(bare) === 6 ? 'ipv6' : 'ipv4');
}

/** A BlockList knows addresses of IPv4 also where they are mapped into IPv6. */
const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');

/**
 * Reads `192.0.2.7`, `10.0.0.0/8`, `2001:db8::/32`; undefined for any other text.
 * @returns the network in lower case, and how many bits all of its addresses share.
 */
export function parseNetwork(text: string): { network: string; bits: number } | undefined {
  const [, address = '', length] = /^([0-9a-f.:]+)(?:\/(\d{1,3}))?$/i.exec(text) ?? [];
  const longest = isIP(address) === 6 ? 128 : 32;
  const bits = Number(length ?? longest);
  return isIP(address) === 0 || bits > longest ? undefined : { network: text.toLowerCase(), bits };
}

/** Addresses whose result is cached. */
const MAX_KNOWN_ADDRESSES = 1_000;

/** IPv4 mapped into IPv6 counts as IPv4. */
const mapped = new BlockList();
mapped.addSubnet('::ffff:0:0', 96, 'ipv6');

/**
 * @returns whether an address lies in one of the networks. An IPv4 address counts as one also where it is mapped into IPv6,
 * and lies in no network of IPv6, not even in `::/0`. A text that is no address lies in none.
 */
export function networksOf(networks: readonly string[]): (address: string) => boolean {
  const lists = { 4: new BlockList(), 6: new BlockList() };
  for (const network of networks) {
    const [address = '', bits] = network.split('/');
    const family = isIPv6(address) ? 'ipv6' : 'ipv4';
    const list = lists[versionOf(address, Number(bits ?? 128))];
    if (bits === undefined) list.addAddress(address, family);
    else list.addSubnet(address, Number(bits), family);
  }
  const isListed = (address: string) => {
    // A link-local address may name its interface.
    const [bare = ''] = address.split('%');
    const family = isIP(bare);
    return family !== 0 && lists[versionOf(bare)].check(bare, family === 6 ? 'ipv6' : 'ipv4');
  };
  // Each check of a BlockList makes an object that is expensive to collect, and clients call often.
  const known = new LRUCache<string, boolean>({ max: MAX_KNOWN_ADDRESSES, memoMethod: isListed });
  return (address) => known.memo(address);
}

/** @param bits of a network. */
function versionOf(address: string, bits = 128): 4 | 6 {
  return isIPv6(address) && (bits < 96 || !mapped.check(address, 'ipv6')) ? 6 : 4;
}
