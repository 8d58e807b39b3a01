/** What a request says of itself, read with care. */

import type { IncomingMessage } from 'node:http';

/** Of two headers a proxy may have looked at the other: they are as good as none. */
export function authorizationOf({ headers, rawHeaders }: IncomingMessage): string | undefined {
  const isOne = (name: string, at: number) => at % 2 === 0 && name.toLowerCase() === 'authorization';
  return rawHeaders.filter(isOne).length > 1 ? undefined : headers.authorization;
}

/** As it was sent: Hono is told of it only after dots in it have been followed. */
export const pathOf = ({ url = '' }: IncomingMessage) => url.split('?', 1)[0];

/**
 * Such as `http://127.0.0.1:4020`. A proxy that is trusted has told who the client is, and may tell how that came to it.
 * @param address of the client itself.
 */
export function serviceAddress({ socket, headers }: IncomingMessage, address: string): string {
  const told = address === socket.remoteAddress ? undefined : headers['x-forwarded-proto'];
  const isSecure = told === undefined ? 'encrypted' in socket : told === 'https';
  return `${isSecure ? 'https' : 'http'}://${headers.host}`;
}
