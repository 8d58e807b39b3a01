/** The model on a loopback port: one call from its arrival to its answer. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, BlockList, isIPv6 } from 'node:net';
import {
  type ApiKey,
  type Call,
  type CallLog,
  createCallLog,
  errorBody,
  type Refusal,
  refusals,
  type Scope,
  sampleKey,
} from './calls.ts';
import { createDatasets, type DatasetOptions, type Datasets, type EndpointName } from './datasets.ts';
import {
  type Answer,
  type ApiRequest,
  type Endpoint,
  endpoints,
  jsonAnswer,
  listBody,
  type Paging,
  readPaging,
  realDelay,
  rowsIn,
  send,
  usageBody,
} from './endpoints.ts';
import { applyFaults, type FaultScript } from './fault-scripts.ts';
import { createLimits, type LimitOptions, type Limits, type Pass } from './limits.ts';
import { seededRandom, uuid } from './random.ts';

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
    /** Endpoints whose successes carry X-RateLimit headers; AI signals alone if not given. */
    rateLimitHeaders?: readonly EndpointName[];
    /** Retry-After of 429 answers, from when the limit will allow a call; no header if not given. */
    retryAfter?: RetryAfter;
    /** Before the first byte of every answer. */
    latencyMs?: number | (() => number);
    faults?: readonly FaultScript[];
    beforeAnswer?: BeforeAnswer;
    /** How many calls are kept at least; all if not given. */
    keepCalls?: number;
  };

type RetryAfter = (readyAt: number, now: number) => string | undefined;

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

/** Starts the model on 127.0.0.1. @throws the system's error where the port is taken. */
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

/** Statuses of which a client may hope that they cost nothing; the specification does not say. */
const FREE_STATUSES: readonly number[] = [401, 403, 429, 503];

type Visit = {
  readonly call: Call;
  readonly request: ApiRequest;
  readonly endpoint: Endpoint | undefined;
  readonly authorization: string | undefined;
};

function createHandler(model: ModelApi, log: CallLog, options: ModelOptions, closing: AbortSignal) {
  const { basePath = '', now = Date.now, delay = realDelay, retryAfter } = options;
  const { rateLimitHeaders = ['aiSignals'] } = options;
  const random = seededRandom(options.seed ?? 1);
  const visits = new Map<Endpoint | undefined, number>();
  const wait = (ms: number) => delay(ms, closing);

  return (incoming: IncomingMessage, response: ServerResponse): void => {
    serve(incoming, response).catch((error: unknown) => {
      response.destroy();
      if (!closing.aborted) throw error;
    });
  };

  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const visit = receive(incoming);
    const { call, request } = visit;
    const admission = check(visit);
    const leave = admission.refused ? () => {} : admission.pass.leave;
    response.once('close', leave);
    if (!admission.refused) await model.beforeAnswer?.(call, model);
    const answer = planAnswer(call, request, admission);
    charge(admission, answer);
    record(call, answer);
    await send(answer, response, wait, () => {
      call.sent = true;
      leave();
    });
  }

  function receive(incoming: IncomingMessage): Visit {
    const [path = '', search = ''] = (incoming.url ?? '').split(/\?(.*)/s);
    const query = new URLSearchParams(search);
    const endpoint = endpoints.find((known) => `${basePath}${known.path}` === path);
    const { authorization, ...headers } = incoming.headers;
    const nth = (visits.get(endpoint) ?? 0) + 1;
    visits.set(endpoint, nth);
    const seen = { at: now(), method: incoming.method ?? '', path, endpoint: endpoint?.name ?? null };
    const call = log.add({
      ...seen,
      query: Object.fromEntries(query),
      headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)])),
      remoteAddress: incoming.socket.remoteAddress ?? '',
      requestId: uuid(random),
      keyId: null,
      inFlight: 0,
      refusedBy: null,
      status: null,
      rowIds: [],
      sent: false,
    });
    incoming.resume();
    const request = { ...seen, ...readPaging(query), query, number: call.number, nth };
    return { call, request, endpoint, authorization };
  }

  function check({ call, endpoint, authorization }: Visit): Admission {
    const admission = admit({ ...call, authorization }, endpoint, model.keys, model.limits);
    call.keyId = admission.key?.id ?? (authorization === undefined ? null : 'unknown');
    call.refusedBy = admission.refused;
    call.inFlight = model.limits.inFlight;
    return admission;
  }

  /** As the specification has it, and as scripted faults leave it. */
  function planAnswer(call: Call, request: ApiRequest, admission: Admission): Answer {
    const bodyAt = (paging: Paging) => admission.refused === null && bodyOf(admission, request, paging);
    const planned = admission.refused ? refusal(admission) : success(admission, bodyAt(request));
    const delayMs = typeof model.latencyMs === 'function' ? model.latencyMs() : model.latencyMs;
    const headers = { ...planned.headers, 'x-request-id': call.requestId };
    return applyFaults({ ...planned, headers, delayMs }, model.faults, { request, random, bodyAt });
  }

  function bodyOf({ endpoint: { name } }: Admitted, { query }: ApiRequest, paging: Paging): unknown {
    return name === 'usage'
      ? usageBody(log, model.limits, now())
      : listBody(name, model.data[name], query, paging);
  }

  function success({ endpoint, pass }: Admitted, body: unknown): Answer {
    if (!rateLimitHeaders.includes(endpoint.name)) return jsonAnswer(200, body);
    return jsonAnswer(200, body, {
      'x-ratelimit-limit': String(pass.limit),
      'x-ratelimit-remaining': String(pass.remaining),
    });
  }

  function refusal({ refused, readyAt }: Refused): Answer {
    const { status, code } = refusals[refused];
    const retry = readyAt === undefined ? undefined : retryAfter?.(readyAt, now());
    return jsonAnswer(status, errorBody(status, code), {
      ...(retry === undefined ? {} : { 'retry-after': retry }),
      ...(refused === 'method' ? { allow: 'GET' } : {}),
    });
  }

  /** Whether a call costs anything shows in its status alone. */
  function charge(admission: Admission, { status }: Answer): void {
    if (!admission.refused && FREE_STATUSES.includes(status)) admission.pass.refund(now());
  }

  function record(call: Call, { status, body }: Answer): void {
    call.status = status;
    if (status === 200 && call.endpoint && call.endpoint !== 'usage') {
      const { idField } = model.data[call.endpoint];
      call.rowIds = rowsIn(body).map((row) => String(Object(row)[idField]));
    }
    log.count(call);
  }
}

/** Whether a call is let in: by path, method, key, address, scope, then the limits. */
type Admission = Admitted | Refused;

type Admitted = {
  readonly refused: null;
  readonly key: ApiKey;
  readonly endpoint: Endpoint;
  readonly pass: Pass;
};

type Refused = {
  readonly refused: Refusal;
  /** The key, if it is one that was issued. */
  readonly key: ApiKey | null;
  /** Of a limit: when it will allow a call (epoch milliseconds). */
  readonly readyAt?: number;
};

type Visitor = {
  readonly method: string;
  readonly authorization: string | undefined;
  readonly remoteAddress: string;
  /** Epoch milliseconds. */
  readonly at: number;
};

function admit(
  visitor: Visitor,
  endpoint: Endpoint | undefined,
  keys: readonly ApiKey[],
  limits: Limits,
): Admission {
  if (!endpoint) return { refused: 'path', key: null };
  if (visitor.method !== 'GET') return { refused: 'method', key: null };
  const sent = /^Bearer +(\S+)$/i.exec(visitor.authorization ?? '')?.[1];
  const key = keys.find((known) => known.key === sent);
  if (!key) return { refused: 'key', key: null };
  const refused = refusalOf(key, endpoint.scope, visitor);
  if (refused) return { refused, key };
  const entry = limits.enter(visitor.at);
  return 'by' in entry
    ? { refused: entry.by, key, readyAt: entry.readyAt }
    : { refused: null, key, endpoint, pass: entry };
}

/** Why the key may not be used here and now (specification, "Authentication"). Without a scope any active key may. */
function refusalOf(key: ApiKey, scope: Scope | null, { at, remoteAddress }: Visitor): Refusal | null {
  const expired = key.expiresAt !== undefined && key.expiresAt <= at;
  if (key.active === false || expired) return 'key';
  if (key.ips && !includesAddress(key.ips, remoteAddress)) return 'ip';
  return scope && !key.scopes.includes(scope) ? 'scope' : null;
}

function includesAddress(allowed: readonly string[], address: string): boolean {
  const list = new BlockList();
  for (const entry of allowed) {
    const [network = '', prefix] = entry.split('/');
    const family = isIPv6(network) ? 'ipv6' : 'ipv4';
    if (prefix === undefined) list.addAddress(network, family);
    else list.addSubnet(network, Number(prefix), family);
  }
  return list.check(address, isIPv6(address) ? 'ipv6' : 'ipv4');
}
