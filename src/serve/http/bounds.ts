/** How much of the service one client may take, and for how long. Times are in milliseconds. */

import { readFileSync } from 'node:fs';

export type Bounds = {
  /** Of the request line and all headers together; more gets a 431. */
  readonly headerBytes: number;
  /** Characters of path and query; more gets a 414. */
  readonly urlLetters: number;
  /** Open connections. Where that many are open, one without a request makes room for a new one. */
  readonly connections: number;
  /** Requests in flight on one connection; then the connection is not read until one has its response. */
  readonly inFlight: number;
  /** Responses on one connection before it is closed, so that clients spread anew over what is behind a balancer. */
  readonly requests: number;
  /** For a TLS handshake, and for the headers of a request from its first byte on; then 408, or a close where nothing came. */
  readonly headersMs: number;
  /** For a whole request, with its body where one is read; then 408. */
  readonly requestMs: number;
  /** For the next request of a connection. Longer than a minute, for which proxies commonly keep theirs. */
  readonly idleMs: number;
  /** In which some part of a response must be read. */
  readonly stalledMs: number;
  /** In which a response that is written must be read whole. */
  readonly takenMs: number;
  /** For responses that are in flight at the end. */
  readonly graceMs: number;
  /** How often connections are checked. */
  readonly lookMs: number;
  /** How often certificate and key are checked for changes. */
  readonly certificateMs: number;
};

const defaults: Bounds = {
  headerBytes: 16 * 1_024,
  urlLetters: 8 * 1_024,
  connections: 1_000,
  inFlight: 8,
  requests: 100_000,
  headersMs: 10_000,
  requestMs: 15_000,
  idleMs: 65_000,
  stalledMs: 30_000,
  takenMs: 120_000,
  graceMs: 8_000,
  lookMs: 1_000,
  certificateMs: 5_000,
};

/** @param openFiles how many files this process may open, where that is known: each connection takes one. */
export function boundsOf(options: Partial<Bounds> = {}, openFiles = maxOpenFiles()): Bounds {
  const connections = Math.max(1, Math.min(defaults.connections, Math.floor(openFiles / 2)));
  return { ...defaults, connections, ...options };
}

/** Beyond it the system turns new connections away, however silent the old ones are. */
function maxOpenFiles(): number {
  try {
    const [, max] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return Number(max ?? Number.POSITIVE_INFINITY);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
