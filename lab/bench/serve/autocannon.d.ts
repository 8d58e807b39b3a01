/** The part of autocannon that is used here; it brings no types. */

declare module 'autocannon' {
  import type { EventEmitter } from 'node:events';

  type Request = { path?: string; headers?: Record<string, string> };

  type Options = {
    url: string;
    connections: number;
    /** Seconds. */
    duration?: number;
    /** Requests in all, instead. */
    amount?: number;
    /** Requests a second, all connections together. */
    overallRate?: number;
    headers?: Record<string, string>;
    requests?: { setupRequest(request: Request): Request }[];
  };

  type Result = {
    /** Seconds. */
    duration: number;
    errors: number;
    timeouts: number;
    requests: { total: number };
    '2xx': number;
    '3xx': number;
    '4xx': number;
    '5xx': number;
  };

  export default function autocannon(options: Options): EventEmitter & Promise<Result>;
}
