/** By which names the service may be called: a web page that made a name of its own lead here is not answered. */

import { isIP } from 'node:net';

const loopback = ['localhost', '127.0.0.1', '::1'];
const everywhere = ['0.0.0.0', '::'];

/**
 * @param listensOn the address; where it is all of them, any address is as good as a name.
 * @returns whether a Host header names this service.
 */
export function hostNames(
  listensOn: string,
  further: readonly string[],
): (host: string | undefined) => boolean {
  const known = new Set([...loopback, listensOn, ...further].map((name) => name.toLowerCase()));
  const isAnyAddress = everywhere.includes(listensOn);
  return (host) => {
    const [, bracketed, plain, port = '0'] =
      /^(?:\[([^\]]+)\]|([^:[\]]+))(?::(\d{1,5}))?$/.exec(host ?? '') ?? [];
    const name = (bracketed ?? plain ?? '').toLowerCase();
    return Number(port) <= 65_535 && (known.has(name) || (isAnyAddress && isIP(name) !== 0));
  };
}
