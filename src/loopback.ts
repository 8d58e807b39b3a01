/** Which hosts are this machine itself. */

import { isIP } from 'node:net';

/**
 * Whether nothing but this machine reaches it.
 * @param host a name or an address, in lower case, also as in a URL (`[::1]`) and as of a socket (`::ffff:127.0.0.1`).
 */
export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[(.*)\]$/, '$1').replace(/^::ffff:/, '');
  return bare === 'localhost' || bare === '::1' || (isIP(bare) === 4 && bare.startsWith('127.'));
}
