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
    requests?: { setupRequest(request: Request): Request }[];
  };

  type Counts = Record<'errors' | 'timeouts' | '2xx' | '3xx', number>;
  /** `duration` in seconds. */
  type Result = Counts & { duration: number; requests: { total: number } };

  export default function autocannon(options: Options): EventEmitter & Promise<Result>;
}
