/** Who may connect where there is no TLS: this machine, and the proxies that are named. */

import type { Socket } from 'node:net';
import { isLoopback } from '../../loopback.ts';
import { networksOf } from '../keys/addresses.ts';

type Ends = Pick<Socket, 'remoteAddress' | 'localAddress'>;

/**
 * Anybody else would show their key to the network.
 * @param proxies addresses and networks.
 */
export function peersOf(proxies: readonly string[]): (ends: Ends) => boolean {
  const isProxy = networksOf(proxies);
  return ({ remoteAddress = '', localAddress }) => {
    // From one of its own addresses to the same, nothing leaves this machine.
    const isHere = remoteAddress === localAddress || isLoopback(remoteAddress);
    return isHere || isProxy(remoteAddress);
  };
}
