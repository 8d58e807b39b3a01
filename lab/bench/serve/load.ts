/** Load on a server by autocannon: how many answers came, how long each took, and what they cost the server. */

import autocannon from 'autocannon';
import type { Server } from './servers.ts';

export type Asked = {
  path: string;
  key: string;
  ifNoneMatch?: string;
};

export type LoadOptions = {
  connections: number;
  seconds?: number;
  amount?: number;
  /** Requests a second. */
  rate?: number;
};

export type Load = {
  perSecond: number;
  /** Of each answer, in milliseconds, the shortest first. */
  took: Float64Array;
  /** Processor time of the server an answer, in milliseconds. */
  cpuMs: number;
};

/**
 * @param next what is asked for, time after time.
 * @throws Error if an answer had another status than `status`.
 */
export async function load(
  server: Server,
  { connections, seconds, amount, rate }: LoadOptions,
  status: '2xx' | '3xx',
  next: () => Asked,
): Promise<Load> {
  const took: number[] = [];
  const cpuBefore = server.cpuMs();
  const running = autocannon({
    url: server.url,
    connections,
    ...(seconds !== undefined && { duration: seconds }),
    ...(amount !== undefined && { amount }),
    ...(rate !== undefined && { overallRate: rate }),
    requests: [
      {
        setupRequest(request) {
          const { path, key, ifNoneMatch } = next();
          const headers = {
            authorization: `Bearer ${key}`,
            ...(ifNoneMatch !== undefined && { 'if-none-match': ifNoneMatch }),
          };
          return { ...request, path, headers };
        },
      },
    ],
  });
  running.on('response', (_client, _status, _bytes, ms: number) => took.push(ms));
  const result = await running;
  const cpuMs = server.cpuMs() - cpuBefore;
  const other = result.requests.total - result[status] + result.errors + result.timeouts;
  if (other > 0) throw new Error(`${other} of ${result.requests.total} answers were no ${status}`);
  return {
    perSecond: result.requests.total / result.duration,
    took: Float64Array.from(took).sort(),
    cpuMs: cpuMs / result.requests.total,
  };
}

/** @param share such as 0.99. */
export function quantile(sorted: Float64Array, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
