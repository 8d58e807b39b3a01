/** How much of the service one client may take, and for how long. Times are in milliseconds. */

import { readFileSync } from 'node:fs';

export type Bounds = {
  /** Of the request line and all headers together; more is answered 431. */
  readonly headerBytes: number;
  /** Of path and query; more is answered 414. */
  readonly urlLetters: number;
  /** Open at the same time. Where that many are, one that asks nothing makes room for a new one. */
  readonly connections: number;
  /** Of one connection in flight at the same time; then it is not read from until one is answered. */
  readonly inFlight: number;
  /** Answered on one connection before it is closed, so that clients spread anew over what is behind a balancer. */
  readonly requests: number;
  /** For a TLS handshake, and for the headers of a request from the first moment on; then 408, or no answer to no word. */
  readonly headersMs: number;
  /** For a whole request, with its body where one is read; then 408. */
  readonly requestMs: number;
  /** For the next request of a connection. Longer than a minute, for which proxies commonly keep theirs. */
  readonly idleMs: number;
  /** In which some part of an answer must be taken. */
  readonly stalledMs: number;
  /** In which an answer that is written must be taken whole. */
  readonly takenMs: number;
  /** For answers that are under way at the end. */
  readonly graceMs: number;
  /** How often connections are looked at. */
  readonly lookMs: number;
  /** How often it is looked whether certificate and key have changed. */
  readonly certificateMs: number;
};

const usual: Bounds = {
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

/** @param openFiles how many files this process may open, where that is known: a connection takes one, and the rest others. */
export function boundsOf(given: Partial<Bounds> = {}, openFiles = mostOpenFiles()): Bounds {
  const connections = Math.max(1, Math.min(usual.connections, Math.floor(openFiles / 2)));
  return { ...usual, connections, ...given };
}

/** Beyond it the system turns new connections away, whoever is silent on the old ones. */
function mostOpenFiles(): number {
  try {
    const [, most] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return Number(most ?? Number.POSITIVE_INFINITY);
  } catch {
    return Number.POSITIVE_INFINITY;
  }
}
