/** Addresses and networks from which a key may be used. */

import { BlockList, isIP, isIPv6 } from 'node:net';
import { LRUCache } from 'lru-cache';

/** A few bytes each; whoever calls from more addresses than that pays for the look at the list. */
const MOST_KNOWN = 1_000;

/** IPv4 within IPv6, which is IPv4. */
const mapped = new BlockList();
mapped.addSubnet('::ffff:0:0', 96, 'ipv6');

/**
 * @returns whether an address lies in one of the networks. IPv4 is known also where it is mapped into IPv6, and lies in no
 * network of IPv6, not even in `::/0`. What is no address lies in none.
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
  // Each look at a list makes an object that is dear to collect, and clients call often.
  const known = new LRUCache<string, boolean>({ max: MOST_KNOWN, memoMethod: isListed });
  return (address) => known.memo(address);
}

/** @param bits of a network. */
function versionOf(address: string, bits = 128): 4 | 6 {
  return isIPv6(address) && (bits < 96 || !mapped.check(address, 'ipv6')) ? 6 : 4;
}
