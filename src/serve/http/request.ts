/** What a request says: the client's address, past proxies, the name by which it called, its body. Read with care, since anybody may send anything. */

import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import { isLoopback, networksOf } from '../../base/networks.ts';

/** Where a request comes from. */
export type Origin = {
  /** Of the client itself, past the proxies that are trusted; `unknown` where such a proxy tells no address of it. */
  readonly address: string;
  /** Whether it is this machine, through no proxy: never where there may be one that does not say so. */
  readonly isLocal: boolean;
};

/** An address that no network holds. */
const UNKNOWN = 'unknown';

/** What proxies add, each to a request of somebody else. */
const PROXY_HEADERS = ['forwarded', 'via', 'x-real-ip'];
const PROXY_PREFIX = 'x-forwarded-';

/**
 * `X-Forwarded-For` is read from the right: each proxy adds the address that spoke to it, and what a client wrote there itself
 * stands further left.
 * @param trusted addresses and networks of the proxies that are believed.
 */
export function clientAddresses(
  trusted: readonly string[],
): (peer: string, forwarded: string | undefined) => string {
  const isTrusted = networksOf(trusted);
  return (peer, forwarded) => {
    if (forwarded === undefined) return peer;
    const hops = forwarded.split(',').map((hop) => hop.trim());
    let client = peer;
    while (isTrusted(client)) {
      const before = hops.pop();
      if (before === undefined) break;
      // A list may have empty members (RFC 9110, 5.6.1).
      if (before !== '') client = addressIn(before);
    }
    return client;
  };
}

/** `192.0.2.7`, `192.0.2.7:5555`, `2001:db8::7`, `[2001:db8::7]`, `[2001:db8::7]:5555`: some proxies add ports. */
function addressIn(hop: string): string {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\]|([^:]*))(?::\d{1,5})?$/.exec(hop) ?? [];
  const address = bracketed ?? plain ?? hop;
  return isIP(address) === 0 ? UNKNOWN : address;
}

/**
 * @param addressOf as of `clientAddresses`.
 * @param hasProxy whether there may be a proxy, see `mayHaveProxy`.
 */
export function originOf(
  { socket, headers }: IncomingMessage,
  addressOf: ReturnType<typeof clientAddresses>,
  hasProxy: boolean,
): Origin {
  const forwarded = headers['x-forwarded-for'];
  const address = addressOf(
    socket.remoteAddress ?? '',
    Array.isArray(forwarded) ? forwarded.join(',') : forwarded,
  );
  return { address, isLocal: !hasProxy && isLoopback(address) && !cameByProxy(headers) };
}

/** A proxy on this machine that does not say whose request it passes on may pass on those of everybody. */
function cameByProxy(headers: IncomingMessage['headers']): boolean {
  for (const name in headers) if (name.startsWith(PROXY_PREFIX) || PROXY_HEADERS.includes(name)) return true;
  return false;
}

const loopback = ['localhost', '127.0.0.1', '::1'];
const everywhere = ['0.0.0.0', '::'];

/**
 * The names by which the service may be called: a web page that points a name of its own here gets nothing.
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

/** Two Authorization headers count as none: a proxy may have checked the other one. */
export function authorizationOf(request: IncomingMessage): string | undefined {
  return headerCount(request, 'authorization') > 1 ? undefined : request.headers.authorization;
}

/** How often a request has a header. @param name in lower case. */
export function headerCount({ rawHeaders }: IncomingMessage, name: string): number {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (rawHeaders[at]?.length === name.length && rawHeaders[at]?.toLowerCase() === name) count += 1;
  return count;
}

/**
 * Such as `http://127.0.0.1:4020`. A trusted proxy, which has said who the client is, may also say whether the client came by TLS.
 * @param address of the client itself.
 */
export function serviceAddress({ socket, headers }: IncomingMessage, address: string): string {
  const forwarded = address === socket.remoteAddress ? undefined : headers['x-forwarded-proto'];
  const isSecure = forwarded === undefined ? 'encrypted' in socket : forwarded === 'https';
  return `${isSecure ? 'https' : 'http'}://${headers.host}`;
}

/** The client has gone, which is no failure. */
export class ClientGone extends Error {}

/** The body did not come whole: too late, or malformed. */
export class BadBody extends Error {
  readonly error: 'request_timeout' | 'bad_request';

  constructor(error: BadBody['error']) {
    super(error);
    this.error = error;
  }
}

/**
 * The body of a request as text; undefined for one of more than `maxBytes`.
 * @throws BadBody, and ClientGone where the client broke off.
 */
export function readBody(
  { incoming }: { readonly incoming: IncomingMessage },
  maxBytes: number,
): Promise<string | undefined> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  return new Promise((resolve, reject) => {
    incoming.on('data', (piece: Buffer) => {
      bytes += piece.length;
      if (bytes <= maxBytes) pieces.push(piece);
      else resolve(undefined);
    });
    incoming.once('end', () => resolve(Buffer.concat(pieces).toString('utf8')));
    incoming.once('error', ({ code = '' }: NodeJS.ErrnoException) => {
      // An error of the parser has a code of its own; every other one is that of a connection that ended.
      if (code === 'ERR_HTTP_REQUEST_TIMEOUT') reject(new BadBody('request_timeout'));
      else reject(code.startsWith('HPE_') ? new BadBody('bad_request') : new ClientGone());
    });
    incoming.once('close', () => reject(new ClientGone()));
  });
}
