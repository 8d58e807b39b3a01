/**
 * What operators see of the service: its measurements for Prometheus, whether it is ready, and the access log. The mirror is read
 * when somebody asks, and the result kept for a second, so that asking often costs little.
 */

import { statSync } from 'node:fs';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { type Clock, isTooOld, LONGEST_TIMER_MS } from '../../base/clock.ts';
import { type Log, repeatedly } from '../../base/log.ts';
import type { Dataset } from '../../job/list.ts';
import { type DatasetStatus, type Health, healthOf, type Status } from '../../reading/status.ts';
import { sinkNames, sinks } from '../../sinks.ts';
import type { Connection } from '../../store/read.ts';
import { type Admission, isRefused } from '../access/admission.ts';
import { METRICS_SCOPE } from '../access/keys.ts';
import { identify, refusedResponse, UNREADY_SECONDS } from '../answers.ts';
import { type Call, type FinishedCall, OTHER_ROUTE, type Route } from '../http/handler.ts';
import { type HttpResponse, jsonResponse, retryAfter } from '../http/response.ts';
import type { WatchedMirror } from './mirror.ts';
import type { Readiness } from './shapes.ts';

export type Metrics = ReturnType<typeof openMetrics>;

type MetricsParts = {
  dir: string;
  mirror: Pick<WatchedMirror, 'read'>;
  /** Whether the database of keys and counts can be read now. */
  areKeysUp(): boolean;
  datasets: readonly Dataset[];
  /** The greatest age that the service shows, in milliseconds, by job. */
  maxAgeMs: Readonly<Record<string, number>>;
  /** The names of all routes; anything else counts as `other`. */
  routes: readonly string[];
  version: string;
  clock: Pick<Clock, 'now' | 'monotonic'>;
};

export function openMetrics({ mirror, areKeysUp, routes, version, clock, ...parts }: MetricsParts) {
  const { dir, datasets, maxAgeMs } = parts;
  const jobs = datasets.map(({ name }) => name);
  const registry = new Registry();
  const metrics = declareMetrics(registry, routes, version);
  const known = new Set(routes);

  const mirrorState = cached(clock, () =>
    mirror.read(({ connection }) => connection.transaction(() => readState(connection))()),
  );

  function readState(connection: Connection): MirrorState {
    const health = healthOf(connection, dir, datasets, clock.now());
    return {
      ...health,
      upstream: health.calls().calls,
      readiness: readinessOf(health.datasets, maxAgeMs),
      lastWalks: readLastWalks(connection, jobs),
      databaseBytes: statSync(connection.name, { throwIfNoEntry: false })?.size ?? 0,
    };
  }

  /** Nothing is shown of a mirror that cannot be read. */
  function show(state: MirrorState | undefined): void {
    metrics.up.set(Number(state !== undefined));
    for (const { gauge, isPlain, read } of metrics.ofMirror) {
      gauge.reset();
      // One without labels would begin at 0.
      if (isPlain) gauge.remove();
      for (const [value, labels = {}] of state ? read(state) : [])
        if (value !== null) gauge.set(labels, value);
    }
  }

  return {
    /** A call has come. */
    beginCall: (): void => metrics.inFlight.inc(),
    /** It has its response, or its client has gone. */
    endCall({ route: name, status, ms, bytes, limit }: FinishedCall): void {
      const route = known.has(name) ? name : OTHER_ROUTE;
      metrics.inFlight.dec();
      metrics.requests.inc({ route, code: status });
      metrics.durations.observe({ route }, ms / 1_000);
      metrics.bytes.inc({ route }, bytes);
      if (limit !== null) metrics.limited.inc({ limit });
    },
    /** Of the mirror and the keys, as they are now. */
    readiness(): Readiness {
      const each = mirrorState()?.readiness;
      const keysUp = areKeysUp();
      return {
        ready: keysUp && (each?.every(({ ready }) => ready) ?? false),
        mirror: each ? 'readable' : 'unreadable',
        keys: keysUp ? 'readable' : 'unreadable',
        datasets: each ?? [],
      };
    },
    /** In the text format of Prometheus. */
    expose: cached(clock, async () => {
      show(mirrorState());
      metrics.keysUp.set(Number(areKeysUp()));
      return { contentType: registry.contentType, text: await registry.metrics() };
    }),
  };
}

const CACHED_MS = 1_000;

function cached<Value>({ monotonic }: Pick<Clock, 'monotonic'>, make: () => Value): () => Value {
  let latest: { value: Value; at: number } | undefined;
  return () => {
    if (!latest || monotonic() - latest.at >= CACHED_MS) latest = { value: make(), at: monotonic() };
    return latest.value;
  };
}

/** What operators ask. @param metrics known once all routes are. */
export function operatorRoutes(
  admission: Admission,
  metrics: () => Pick<Metrics, 'readiness' | 'expose'>,
): Route[] {
  function readyz(): HttpResponse {
    const readiness = metrics().readiness();
    return readiness.ready
      ? jsonResponse(200, readiness)
      : jsonResponse(503, readiness, retryAfter(UNREADY_SECONDS));
  }

  /** Open on the machine of the service; from elsewhere it takes a key. */
  async function scrape(call: Call): Promise<HttpResponse> {
    const caller = call.isLocal ? undefined : identify(admission, call, METRICS_SCOPE);
    if (caller && isRefused(caller)) return refusedResponse(call, caller);
    const { contentType, text } = await metrics().expose();
    return { status: 200, headers: { 'Content-Type': contentType, 'Cache-Control': 'no-store' }, body: text };
  }

  return [
    { name: 'healthz', path: '/healthz', respond: () => jsonResponse(200, { status: 'ok' }) },
    { name: 'readyz', path: '/readyz', respond: readyz },
    { name: 'metrics', path: '/metrics', respond: scrape },
  ];
}

/** The access log: neither key nor path nor query, nothing that a client made up. */
export function createAccessLog(log: Log): (call: FinishedCall) => void {
  return repeatedly(log, 'answered');
}

type DatasetReadiness = Readiness['datasets'][number];

/** @param maxAgeMs the greatest age that the service shows, by job. */
function readinessOf(
  datasets: readonly DatasetStatus[],
  maxAgeMs: Readonly<Record<string, number>>,
): DatasetReadiness[] {
  return datasets.flatMap(({ job, verdict, completeAsOf, ageSeconds, staleAfterSeconds, fresh }) => {
    if (staleAfterSeconds === null) return [];
    const maxAgeSeconds = (maxAgeMs[job] ?? Number.POSITIVE_INFINITY) / 1_000;
    const whyNot = () => {
      if (completeAsOf === null) return 'never-complete';
      if (ageSeconds === null) return 'clock-ahead';
      if (!fresh) return 'stale';
      return isTooOld(ageSeconds, maxAgeSeconds) ? 'too-old' : null;
    };
    const why = whyNot();
    const boundSeconds = Math.min(staleAfterSeconds, maxAgeSeconds);
    return [{ job, ready: why === null, verdict, completeAsOf, ageSeconds, boundSeconds, why }];
  });
}

/** Everything that is measured; `docs/metrics.md` is generated from it. */
export function declareMetrics(registry: Registry, routes: readonly string[], version: string) {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LONGEST_TIMER_MS });
  for (const name of [...misnamed, ...sampled]) registry.removeSingleMetric(name);
  const described = (name: string, help: string, labelNames: readonly string[] = []) => ({
    name: `market_mirror_${name}`,
    help,
    labelNames,
    registers: [registry],
  });
  new Gauge(
    described('build_info', '1; the label tells the version of market-mirror that serves.', ['version']),
  ).set({ version }, 1);
  const metrics = {
    keysUp: new Gauge(
      described('keys_up', '1 while serve.db, with the keys and counts, can be read, else 0.'),
    ),
    inFlight: new Gauge(described('http_requests_in_progress', 'Requests that are being answered.')),
    requests: new Counter(
      described(
        'http_requests_total',
        'Requests, by the name of the endpoint and the status of the answer; 304 for pages that the client had.',
        ['route', 'code'],
      ),
    ),
    durations: new Histogram({
      ...described(
        'http_request_duration_seconds',
        'From the headers of a request to the end of its answer, or of its connection.',
        ['route'],
      ),
      buckets,
    }),
    bytes: new Counter(described('http_response_bytes_total', 'Bytes of the bodies of answers.', ['route'])),
    limited: new Counter(
      described(
        'http_limited_total',
        'Requests answered 429, by the limit that was reached; failures is that of calls without a valid key.',
        ['limit'],
      ),
    ),
    up: new Gauge(described('up', '1 while the mirror can be read, else 0.')),
    ofMirror: mirrorGauges.map(({ name, help, labels, read }) => ({
      gauge: new Gauge(described(name, help, labels)),
      isPlain: labels.length === 0,
      read,
    })),
  };
  // Counts begin at 0, so that the first increase is seen.
  for (const limit of ['quota', 'rate', 'concurrency', 'failures']) metrics.limited.inc({ limit }, 0);
  for (const route of [...routes, OTHER_ROUTE])
    for (const code of [200, 500, 503]) metrics.requests.inc({ route, code }, 0);
  return metrics;
}

/** In seconds. */
const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Gauges whose names end as those of counters do, which Prometheus advises against. */
const misnamed = [
  'nodejs_active_resources_total',
  'nodejs_active_handles_total',
  'nodejs_active_requests_total',
];

/** For these a timer would wake an idle service a hundred times a second; each would count the time between two of them as lag. */
const sampled = ['min', 'max', 'mean', 'stddev', 'p50', 'p90', 'p99'].map(
  (name) => `nodejs_eventloop_lag_${name}_seconds`,
);

/** The mirror at one time. */
type MirrorState = Pick<
  Health,
  'daemon' | 'sinks' | 'problems' | 'datasets' | 'reports' | 'limits' | 'logBytes'
> & {
  upstream: Status['calls'];
  readiness: DatasetReadiness[];
  lastWalks: readonly LastWalk[];
  databaseBytes: number;
};

type Sample = [value: number | null, labels?: Record<string, string>];

type MirrorGauge = {
  name: string;
  help: string;
  labels: string[];
  read(state: MirrorState): readonly Sample[];
};

const gauge = (name: string, help: string, value: (state: MirrorState) => number | null): MirrorGauge => ({
  name,
  help,
  labels: [],
  read: (state) => [[value(state)]],
});

const gaugePerDataset = (
  name: string,
  help: string,
  value: (dataset: DatasetStatus) => number | null,
): MirrorGauge => ({
  name,
  help,
  labels: ['job'],
  read: ({ datasets }) => datasets.map((dataset) => [value(dataset), { job: dataset.job }]),
});

const gauges = (name: string, help: string, labels: string[], read: MirrorGauge['read']): MirrorGauge => ({
  name,
  help,
  labels,
  read,
});

/** 1 for the present value of a label, and 0 for the others. */
const oneOf = (all: readonly string[], present: string, label: string, job: string): Sample[] =>
  all.map((each) => [Number(each === present), { job, [label]: each }]);

const verdicts = ['snapshot', 'verified', 'none'];
const states: readonly DatasetStatus['doing']['state'][] = [
  'never',
  'running',
  'waiting',
  'stopped',
  'failed',
  'idle',
];

const mirrorGauges: readonly MirrorGauge[] = [
  gaugePerDataset(
    'dataset_proven_age_seconds',
    'Since the last walk began that proved the dataset complete; absent where none has, or the clock was set back.',
    ({ ageSeconds }) => ageSeconds,
  ),
  gaugePerDataset(
    'dataset_seen_age_seconds',
    'Since the last walk or glance began that looked for new rows; it proves nothing.',
    ({ seenAgeSeconds }) => seenAgeSeconds,
  ),
  gauges(
    'dataset_bound_seconds',
    'The greatest proven age at which the dataset is ready; absent where it has no schedule.',
    ['job'],
    ({ readiness }) => readiness.map(({ job, boundSeconds }) => [boundSeconds, { job }]),
  ),
  gauges(
    'dataset_ready',
    '1 where the dataset is proven within its bound, as /readyz says, else 0.',
    ['job'],
    ({ readiness }) => readiness.map(({ job, ready }) => [Number(ready), { job }]),
  ),
  gaugePerDataset(
    'dataset_rows',
    'Rows of the dataset in the mirror; of usage, its snapshots.',
    ({ rows }) => rows,
  ),
  gauges(
    'dataset_verdict',
    '1 for what the last proof of the dataset proved, 0 for the others; none where there was no proof.',
    ['job', 'verdict'],
    ({ datasets }) =>
      datasets.flatMap(({ job, verdict }) => oneOf(verdicts, verdict ?? 'none', 'verdict', job)),
  ),
  gauges(
    'dataset_state',
    '1 for how the latest walk of the dataset stands, 0 for the others, as status tells it.',
    ['job', 'state'],
    ({ datasets }) => datasets.flatMap(({ job, doing }) => oneOf(states, doing.state, 'state', job)),
  ),
  gaugePerDataset(
    'dataset_next_due_timestamp_seconds',
    'When the dataset is next due, or its waiting walk goes on, in Unix time; absent where that is not known.',
    ({ nextRun }) => (nextRun === null ? null : Date.parse(nextRun) / 1_000),
  ),
  gauges(
    'dataset_last_walk_duration_seconds',
    'From the beginning to the end of the last walk that ended, with all that it waited for.',
    ['job'],
    ({ lastWalks }) => lastWalks.map(({ job, seconds }) => [seconds, { job }]),
  ),
  gauges(
    'dataset_last_walk_calls',
    'Calls that brought a page to the last walk that ended.',
    ['job'],
    ({ lastWalks }) => lastWalks.map(({ job, calls }) => [calls, { job }]),
  ),
  gauges(
    'dataset_last_walk_end_timestamp_seconds',
    'When the last walk ended that came to its end, in Unix time; absent where none has.',
    ['job'],
    ({ lastWalks }) => lastWalks.map(({ job, endedAt }) => [endedAt, { job }]),
  ),
  gaugePerDataset(
    'dataset_quarantined_rows',
    'Rows that broke the contract and wait in quarantine.',
    ({ quarantined }) => quarantined,
  ),
  gaugePerDataset(
    'dataset_drifts',
    'Differences from what the contract or earlier rows say of the fields.',
    ({ drifts }) => drifts,
  ),
  gaugePerDataset(
    'dataset_held_rows',
    'Rows that the last proof did not show, and that stay until another agrees.',
    ({ held }) => held,
  ),
  gauges(
    'problem',
    '1 for each problem that status shows now, by its code; job is empty where it is not of one dataset.',
    ['code', 'job', 'level'],
    ({ problems }) => problems.map(({ code, job, level }) => [1, { code, job: job ?? '', level }]),
  ),
  gauges(
    'report_last_run_timestamp_seconds',
    'When the report last ran, in Unix time; absent where it never has.',
    ['report'],
    ({ reports }) =>
      reports.map(({ report, lastRun }) => [
        lastRun === null ? null : Date.parse(lastRun) / 1_000,
        { report },
      ]),
  ),
  gauges(
    'report_unsent_messages',
    'Messages of the report that could not be sent yet.',
    ['report'],
    ({ reports }) => reports.map(({ report, unsent }) => [unsent?.messages ?? 0, { report }]),
  ),
  gauge('daemon_running', '1 while a daemon works on the folder, else 0.', ({ daemon }) =>
    Number(daemon !== null),
  ),
  gauges('upstream_calls_last_hour', 'Calls to the API in the last hour.', ['job'], ({ upstream }) =>
    Object.entries(upstream.byJob).map(([job, { lastHour }]) => [lastHour, { job }]),
  ),
  gauge(
    'upstream_limited_last_day',
    'Calls that the API answered with 429 in the last 24 hours.',
    ({ upstream }) => upstream.limitedLastDay,
  ),
  gauge(
    'quota_limit',
    'Calls that the quota upstream allows; absent until it is known.',
    ({ limits }) => limits.quota.limit,
  ),
  gauge(
    'quota_remaining',
    'Calls left of the quota upstream, as last told or counted since; absent until it is known.',
    ({ limits }) => limits.quota.remaining,
  ),
  gauge(
    'quota_reserve',
    'Calls of the quota upstream that are kept to see when more come.',
    ({ limits }) => limits.quota.reserve,
  ),
  gauge(
    'quota_reset_timestamp_seconds',
    'When the quota upstream is next expected to be whole again, in Unix time; absent until it is known.',
    ({ limits: { quota } }) => (quota.resets.at === null ? null : quota.resets.at / 1_000),
  ),
  gauge('database_bytes', 'Size of mirror.db.', ({ databaseBytes }) => databaseBytes),
  gauge('log_bytes', 'Size of the write-ahead log mirror.db-wal.', ({ logBytes }) => logBytes),
  ...sinkNames.flatMap((sink) => [
    gauge(
      `${sink}_behind_changes`,
      `Changes that have not arrived in ${sinks[sink].name}; absent where no daemon brings them there.`,
      (state) => state.sinks[sink]?.changes ?? null,
    ),
    gauge(
      `${sink}_behind_seconds`,
      `Age of the oldest change that has not arrived in ${sinks[sink].name}; absent where no daemon brings them there.`,
      (state) => state.sinks[sink]?.seconds ?? null,
    ),
  ]),
];

/**
 * `seconds` from its beginning to its end, with all that it waited for; `calls` that brought a page; `endedAt` of the last that came to
 * its end, in Unix time.
 */
type LastWalk = { job: string; seconds: number; calls: number; endedAt: number | null };

/** Those that have one. */
function readLastWalks(connection: Connection, jobs: readonly string[]): LastWalk[] {
  type Walk = { startedAt: string; finishedAt: string; calls: number };
  const lastWhere = (condition: string) =>
    connection.prepare<[string], Walk>(
      `SELECT started_at AS startedAt, finished_at AS finishedAt, api_calls AS calls FROM walks
       WHERE job = ? AND kind = 'walk' AND ${condition} ORDER BY id DESC LIMIT 1`,
    );
  const [last, complete] = [lastWhere('finished_at IS NOT NULL'), lastWhere("status = 'complete'")];
  return jobs.flatMap((job) => {
    const walk = last.get(job);
    if (!walk) return [];
    const ms = Date.parse(walk.finishedAt) - Date.parse(walk.startedAt);
    const ended = complete.get(job)?.finishedAt;
    const endedAt = ended === undefined ? null : Date.parse(ended) / 1_000;
    return [{ job, seconds: Math.max(0, ms) / 1_000, calls: walk.calls, endedAt }];
  });
}
