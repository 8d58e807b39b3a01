/** What is measured of the process that serves: what it was asked, how it answered, and what it takes of the machine. */

import { Counter, collectDefaultMetrics, Gauge, Histogram, type Registry } from 'prom-client';
import type { AnsweredCall } from '../../http/app.ts';
import type { PageSource } from '../answers.ts';

/** In seconds. A page that is kept takes less than the first of them. */
const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Answers whose counts begin at 0, so that the first of them is seen to come. */
const usualCodes = [200, 500, 503];

const limits = ['quota', 'rate', 'concurrency', 'failures'];

/** Gauges whose names end as those of counters do, which Prometheus advises against. */
const misnamed = [
  'nodejs_active_resources_total',
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
];

export type ProcessMetrics = {
  /** A call has come. */
  began(): void;
  /** It has been answered, or its client has gone. */
  ended(call: Pick<AnsweredCall, 'route' | 'status' | 'ms' | 'bytes' | 'limit'>): void;
  /** A page of a list has been answered. */
  paged(source: PageSource): void;
  /** Whether the database of keys and counts can be used, when that changes. */
  keysTold(areUp: boolean): void;
};

/** @param routes the names of all endpoints; what is none of them counts as `other`. */
export function processMetrics(
  registry: Registry,
  routes: readonly string[],
  version: string,
): ProcessMetrics {
  const registers = [registry];
  const known = new Set(routes);
  collectDefaultMetrics({ register: registry });
  for (const name of misnamed) registry.removeSingleMetric(name);

  const build = new Gauge({
    name: 'market_mirror_build_info',
    help: '1; the label tells the version of market-mirror that serves.',
    labelNames: ['version'],
    registers,
  });
  build.set({ version }, 1);
  const keysUp = new Gauge({
    name: 'market_mirror_keys_up',
    help: '1 while serve.db, with the keys and counts, can be read and written, else 0.',
    registers,
  });
  keysUp.set(1);
  const underWay = new Gauge({
    name: 'market_mirror_http_requests_in_progress',
    help: 'Requests that are being answered.',
    registers,
  });
  const requests = new Counter({
    name: 'market_mirror_http_requests_total',
    help: 'Requests, by the name of the endpoint and the status of the answer; 304 for pages that the client had.',
    labelNames: ['route', 'code'],
    registers,
  });
  const durations = new Histogram({
    name: 'market_mirror_http_request_duration_seconds',
    help: 'From the headers of a request to the end of its answer, or of its connection.',
    labelNames: ['route'],
    buckets,
    registers,
  });
  const bytes = new Counter({
    name: 'market_mirror_http_response_bytes_total',
    help: 'Bytes of the bodies of answers.',
    labelNames: ['route'],
    registers,
  });
  const limited = new Counter({
    name: 'market_mirror_http_limited_total',
    help: 'Requests answered 429, by the limit that was reached; failures is that of calls without a valid key.',
    labelNames: ['limit'],
    registers,
  });
  const pages = new Counter({
    name: 'market_mirror_pages_total',
    help: 'Pages of lists that were answered with their rows: kept from an earlier call, or read from the mirror.',
    labelNames: ['source'],
    registers,
  });
  for (const source of ['kept', 'read']) pages.inc({ source }, 0);
  for (const limit of limits) limited.inc({ limit }, 0);
  for (const route of [...routes, 'other']) for (const code of usualCodes) requests.inc({ route, code }, 0);

  return {
    began: () => underWay.inc(),
    ended({ route: name, status, ms, bytes: sent, limit }) {
      const route = known.has(name) ? name : 'other';
      underWay.dec();
      requests.inc({ route, code: status });
      durations.observe({ route }, ms / 1_000);
      bytes.inc({ route }, sent);
      if (limit !== null) limited.inc({ limit });
    },
    paged: (source) => pages.inc({ source }),
    keysTold: (areUp) => keysUp.set(Number(areUp)),
  };
}
