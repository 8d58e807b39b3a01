/** Whose call it is: the address of the client itself, past the proxies that are trusted. */

import { isIP } from 'node:net';
import { networksOf } from '../keys/addresses.ts';

/**
 * `X-Forwarded-For` is read from the right: each proxy adds the address that spoke to it, and what a client wrote there
 * itself stands further left.
 * @param trusted addresses and networks of the proxies that are believed.
 */
export function clientAddresses(
  trusted: readonly string[],
): (peer: string, forwarded: string | undefined) => string {
  const isTrusted = networksOf(trusted);
  return (peer, forwarded) => {
    const hops = trusted.length > 0 ? (forwarded ?? '').split(',').map((hop) => hop.trim()) : [];
    let client = peer;
    while (isTrusted(client)) {
      const before = hops.pop();
      if (before === undefined || isIP(before) === 0) break;
      client = before;
    }
    return client;
  };
}
