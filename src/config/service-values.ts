/** What the text of each setting of the service comes to. */

import { isIP } from 'node:net';
import { Failure } from '../errors.ts';
import { millisecondsOf } from '../schedule.ts';

export type ServeAddress = { readonly host: string; readonly port: number };

/** How old data may be, in milliseconds. */
export type Bounds = { readonly all: number | undefined; readonly byJob: ReadonlyMap<string, number> };

/** `127.0.0.1:4020`, `mirror.internal:4020`, `[::1]:4020`. */
export function readListenAddress(text: string): ServeAddress {
  const [, inBrackets, plain, digits] = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/.exec(text.trim()) ?? [];
  const host = readHost(inBrackets ?? plain ?? '');
  const port = Number(digits);
  if (host === undefined || (inBrackets !== undefined && isIP(host) !== 6) || port > 65_535)
    refuse('is not host:port, such as 127.0.0.1:4020 or [::1]:4020');
  return { host, port };
}

/** An address or a name to listen on, without a port; undefined for a text that is neither. */
export function readHost(text: string): string | undefined {
  const host = text.trim().toLowerCase();
  return isIP(host) !== 0 || isName(host) ? host : undefined;
}

/** What looks like an address of four numbers must be one. */
const isName = (text: string) =>
  text.length <= 253 &&
  !/^[\d.]+$/.test(text) &&
  /^[a-z0-9]([a-z0-9-]{0,62})(\.[a-z0-9]([a-z0-9-]{0,62}))*$/.test(text);

export function readBounds(text: string): Bounds {
  const byJob = new Map<string, number>();
  let all: number | undefined;
  for (const part of listed(text)) {
    const [, job, age = ''] = /^(?:([^=]+)=)?([^=]+)$/.exec(part) ?? [];
    const ms = millisecondsOf(age.trim());
    if (!ms) refuse(`holds '${part}', which is no age such as 1h or news=15m`);
    if (job === undefined ? all !== undefined : byJob.has(job.trim()))
      refuse(`says twice how old ${job ?? 'data'} may be`);
    if (job === undefined) all = ms;
    else byJob.set(job.trim(), ms);
  }
  return { all, byJob };
}

export function readHosts(text: string): readonly string[] {
  return listed(text).map((host) => {
    const name = readHost(host.replace(/^\[(.*)\]$/, '$1'));
    return (
      name ?? refuse(`holds '${host}', which is no name such as mirror.example.com: without port or path`)
    );
  });
}

export function readNetworks(text: string): readonly string[] {
  return listed(text).map((network) => {
    const [address = '', bits, ...more] = network.split('/');
    const longest = isIP(address) === 6 ? 128 : 32;
    if (isIP(address) === 0 || more.length > 0 || !isLength(bits, longest))
      refuse(`holds '${network}', which is no address or network such as 10.0.0.7 or 192.0.2.0/24`);
    if (Number(bits ?? longest) === 0)
      refuse(`holds '${network}', by which anybody could claim any address: name the proxies`);
    return network.toLowerCase();
  });
}

const isLength = (bits: string | undefined, longest: number) =>
  bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= longest);

export function readSwitch(text: string): boolean {
  if (text === 'on' || text === 'off') return text === 'on';
  return refuse('is neither on nor off');
}

/** Who may see the page. */
export type PageAccess = 'off' | 'token' | 'open';

export function readPageAccess(text: string): PageAccess {
  if (text === 'off' || text === 'token' || text === 'open') return text;
  return refuse('is none of token, open and off');
}

function listed(text: string): string[] {
  const parts = text.split(',').map((part) => part.trim());
  return parts.includes('') ? refuse('holds an empty entry: separate entries by one comma') : parts;
}

function refuse(problem: string): never {
  throw new Failure('config', problem);
}
