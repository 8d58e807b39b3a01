/** The model's options, and what a test can see and change while it runs. */

import type { ApiKey, Call, Refusal } from './calls.ts';
import type { DatasetOptions, Datasets, EndpointName } from './datasets.ts';
import type { FaultScript } from './fault-scripts.ts';
import type { LimitOptions, Limits } from './limits.ts';

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
