/** Hosts and networks: which are this machine itself, and how a network is written. */

import { isIP } from 'node:net';

/**
 * Whether nothing but this machine reaches it.
 * @param host a name or an address, in lower case, also as in a URL (`[::1]`) and as of a socket (`::ffff:127.0.0.1`).
 */
export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[(.*)\]$/, '$1').replace(/^::ffff:/, '');
  return bare === 'localhost' || bare === '::1' || (isIP(bare) === 4 && bare.startsWith('127.'));
}

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
