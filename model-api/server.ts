/** The model on a loopback port: its options, and what a test can see and change while it runs. */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type ApiKey, type Refusal, sampleKey } from './admission.ts';
import { type Call, createCallLog } from './calls.ts';
import { createDatasets, type DatasetOptions, type Datasets } from './datasets.ts';
import type { EndpointName } from './endpoints.ts';
import type { FaultScript } from './faults.ts';
import { createHandler } from './handler.ts';
import { createLimits, type LimitOptions, type Limits } from './limits.ts';

export type ModelOptions = DatasetOptions &
  LimitOptions & {
    /** Port on 127.0.0.1; a free one if not given. */
    port?: number;
    /** Comes before `/api/v1` in every path, such as `/market`. */
    basePath?: string;
    /** Epoch milliseconds: the clock of limits, keys and records. */
    now?: () => number;
    /** Waits out latencies and slow faults; real time if not given. */
    delay?: (ms: number, signal: AbortSignal) => Promise<void>;
    /** `sampleKey` alone if not given. */
    keys?: readonly ApiKey[];
    /** Endpoints whose calls count against the quota; all if not given. */
    quotaEndpoints?: readonly EndpointName[];
    /** Statuses whose calls cost nothing; 401, 403, 429 and 503 if not given. Only calls with a key can cost. */
    freeStatuses?: readonly number[];
    /** Endpoints whose successes carry X-RateLimit headers; AI signals alone if not given. */
    rateLimitHeaders?: readonly EndpointName[];
    /** Retry-After of 429 answers, from when the limit will allow a call; no header if not given. */
    retryAfter?: RetryAfter;
    /** Codes of Error bodies instead of the usual ones. */
    errorCodes?: Partial<Record<Refusal, string>>;
    /** Before the first byte of every answer. */
    latencyMs?: number | (() => number);
    faults?: readonly FaultScript[];
    beforeAnswer?: BeforeAnswer;
    /** How many calls are kept at least; all if not given. */
    keepCalls?: number;
  };

export type RetryAfter = (readyAt: number, now: number) => string | undefined;

/** Runs once a call has passed keys and limits, before its answer is read from the data. */
export type BeforeAnswer = (call: Call, model: ModelApi) => void | Promise<void>;

export type ModelApi = {
  /** Base address, without a slash at its end. */
  readonly url: string;
  readonly port: number;
  /** Every call, newest last. */
  readonly calls: readonly Call[];
  /** Calls to one path below the base address, such as `/api/v1/news`. */
  callsTo(path: string): Call[];
  /** The datasets, to be edited between requests. */
  readonly data: Datasets;
  /** These hold from the next call on: edit or assign them. */
  keys: ApiKey[];
  faults: FaultScript[];
  limits: Limits;
  latencyMs: number | (() => number);
  beforeAnswer: BeforeAnswer | undefined;
  /** Stops listening and ends every connection. */
  close(): Promise<void>;
};

/** Whole seconds until the limit will allow a call, rounded up. */
export const retryAfterSeconds: RetryAfter = (readyAt, now) =>
  String(Math.max(1, Math.ceil((readyAt - now) / 1_000)));

/** The same as an HTTP date, rounded up to its whole seconds. */
export const retryAfterDate: RetryAfter = (readyAt) =>
  new Date(Math.ceil(readyAt / 1_000) * 1_000).toUTCString();

/**
 * Starts an executable model of the whole specification on 127.0.0.1.
 * @throws the system's error where the port is taken
 */
export async function startModelApi(options: ModelOptions = {}): Promise<ModelApi> {
  const { basePath = '' } = options;
  const closing = new AbortController();
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(options.port ?? 0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  const log = createCallLog(options.keepCalls ?? Number.POSITIVE_INFINITY);

  const model: ModelApi = {
    url: `http://127.0.0.1:${port}${basePath}`,
    port,
    calls: log.calls,
    callsTo: (path) => log.calls.filter((call) => call.path === `${basePath}${path}`),
    data: createDatasets(options),
    keys: (options.keys ?? [sampleKey]).map((key) => ({ ...key })),
    faults: [...(options.faults ?? [])],
    limits: createLimits(options),
    latencyMs: options.latencyMs ?? 0,
    beforeAnswer: options.beforeAnswer,
    async close() {
      closing.abort();
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };

  server.on('request', createHandler(model, log, options, closing.signal));
  return model;
}
