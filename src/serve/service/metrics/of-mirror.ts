/** What is measured of the mirror: how fresh, how proven, what was called for it. Read as it stands when somebody asks. */

import { Counter, Gauge, type Registry } from 'prom-client';
import type { LastWalk } from '../../../reading/last-walks.ts';
import type { DatasetStatus, Health } from '../../../reading/status.ts';
import type { Tally } from '../../../reading/tally.ts';
import { sinkNames, sinks } from '../../../sinks.ts';
import type { MirrorReadiness } from './readiness.ts';

/** The mirror at one moment. */
export type Standing = Pick<Health, 'daemon' | 'sinks' | 'problems' | 'datasets' | 'limits' | 'logBytes'> & {
  readiness: MirrorReadiness;
  lastWalks: readonly LastWalk[];
  databaseBytes: number;
};

type Sample = [value: number | null, labels?: Record<string, string>];

type GaugeOfMirror = {
  name: string;
  help: string;
  labels?: readonly string[];
  read(standing: Standing): readonly Sample[];
};

const verdicts = ['snapshot', 'verified', 'none'];
const states: readonly DatasetStatus['doing']['state'][] = [
  'never',
  'running',
  'waiting',
  'stopped',
  'failed',
  'idle',
];

const gauges: readonly GaugeOfMirror[] = [
  ofDataset(
    'dataset_proven_age_seconds',
    'Since the last walk began that proved the dataset complete; absent where none has, or the clock was set back.',
    ({ ageSeconds }) => ageSeconds,
  ),
  ofDataset(
    'dataset_seen_age_seconds',
    'Since the last walk or glance began that looked for new rows; it proves nothing.',
    ({ seenAgeSeconds }) => seenAgeSeconds,
  ),
  {
    name: 'dataset_bound_seconds',
    help: 'The greatest proven age at which the dataset is ready; absent where it has no schedule.',
    labels: ['job'],
    read: ({ readiness }) => readiness.datasets.map(({ job, boundSeconds }) => [boundSeconds, { job }]),
  },
  {
    name: 'dataset_ready',
    help: '1 where the dataset is proven within its bound, as /readyz says, else 0.',
    labels: ['job'],
    read: ({ readiness }) => readiness.datasets.map(({ job, ready }) => [Number(ready), { job }]),
  },
  ofDataset(
    'dataset_rows',
    'Rows of the dataset in the mirror; of usage, its snapshots.',
    ({ rows }) => rows,
  ),
  {
    name: 'dataset_verdict',
    help: '1 for what the last proof of the dataset proved, 0 for the others; none where there was no proof.',
    labels: ['job', 'verdict'],
    read: ({ datasets }) =>
      datasets.flatMap(({ job, verdict }) => oneOf(verdicts, verdict ?? 'none', 'verdict', job)),
  },
  {
    name: 'dataset_state',
    help: '1 for how the latest walk of the dataset stands, 0 for the others, as status tells it.',
    labels: ['job', 'state'],
    read: ({ datasets }) => datasets.flatMap(({ job, doing }) => oneOf(states, doing.state, 'state', job)),
  },
  ofDataset(
    'dataset_next_due_timestamp_seconds',
    'When the dataset is next due, or its waiting walk goes on, in Unix time; absent where that is not known.',
    ({ nextRun }) => (nextRun === null ? null : Date.parse(nextRun) / 1_000),
  ),
  {
    name: 'dataset_last_walk_duration_seconds',
    help: 'From the beginning to the end of the last walk that ended, with all that it waited for.',
    labels: ['job'],
    read: ({ lastWalks }) => lastWalks.map(({ job, seconds }) => [seconds, { job }]),
  },
  {
    name: 'dataset_last_walk_calls',
    help: 'Calls that brought a page to the last walk that ended.',
    labels: ['job'],
    read: ({ lastWalks }) => lastWalks.map(({ job, calls }) => [calls, { job }]),
  },
  ofDataset(
    'dataset_quarantined_rows',
    'Rows that broke the contract and wait in quarantine.',
    ({ quarantined }) => quarantined,
  ),
  ofDataset(
    'dataset_drifts',
    'Differences from what the contract or earlier rows say of the fields.',
    ({ drifts }) => drifts,
  ),
  ofDataset(
    'dataset_held_rows',
    'Rows that the last proof did not show, and that stay until another agrees.',
    ({ held }) => held,
  ),
  {
    name: 'problem',
    help: '1 for each problem that status shows now, by its code; job is empty where it is not of one dataset.',
    labels: ['code', 'job', 'level'],
    read: ({ problems }) => problems.map(({ code, job, level }) => [1, { code, job: job ?? '', level }]),
  },
  of('daemon_running', '1 while a daemon works on the folder, else 0.', ({ daemon }) =>
    Number(daemon !== null),
  ),
  of(
    'quota_limit',
    'Calls that the quota upstream allows; absent until it is known.',
    ({ limits }) => limits.quota.limit,
  ),
  of(
    'quota_remaining',
    'Calls left of the quota upstream, as last told or counted since; absent until it is known.',
    ({ limits }) => limits.quota.remaining,
  ),
  of(
    'quota_reserve',
    'Calls of the quota upstream that are kept to see when more come.',
    ({ limits }) => limits.quota.reserve,
  ),
  of(
    'quota_reset_timestamp_seconds',
    'When the quota upstream is next expected to be whole again, in Unix time; absent until it is known.',
    ({ limits: { quota } }) => (quota.refill.kind === 'window' ? quota.refill.nextBy / 1_000 : null),
  ),
  of('database_bytes', 'Size of mirror.db.', ({ databaseBytes }) => databaseBytes),
  of('log_bytes', 'Size of the write-ahead log mirror.db-wal.', ({ logBytes }) => logBytes),
  ...sinkNames.flatMap((target) => [
    of(
      `${target}_behind_changes`,
      `Changes that have not arrived in ${sinks[target].name}; absent where no daemon brings them there.`,
      (standing) => standing.sinks[target]?.changes ?? null,
    ),
    of(
      `${target}_behind_seconds`,
      `Age of the oldest change that has not arrived in ${sinks[target].name}; absent where no daemon brings them there.`,
      (standing) => standing.sinks[target]?.seconds ?? null,
    ),
  ]),
];

function of(name: string, help: string, value: (standing: Standing) => number | null): GaugeOfMirror {
  return { name, help, read: (standing) => [[value(standing)]] };
}

function ofDataset(
  name: string,
  help: string,
  value: (dataset: DatasetStatus) => number | null,
): GaugeOfMirror {
  const read = ({ datasets }: Standing): Sample[] =>
    datasets.map((dataset) => [value(dataset), { job: dataset.job }]);
  return { name, help, labels: ['job'], read };
}

function oneOf(all: readonly string[], now: string, label: string, job: string): Sample[] {
  return all.map((each) => [Number(each === now), { job, [label]: each }]);
}

/** Answers whose counts begin at 0, so that the first of them is seen to come. */
const usualCodes = ['200', '401', '403', '429', '503', 'none'];

export type MirrorMetrics = {
  /** @param standing undefined where the mirror cannot be read: nothing is shown of it then. */
  show(standing: Standing | undefined): void;
  /** Adds what came since. */
  add(tally: Tally): void;
};

export function mirrorMetrics(registry: Registry, jobs: readonly string[]): MirrorMetrics {
  const registers = [registry];
  const up = new Gauge({
    name: 'market_mirror_up',
    help: '1 while the mirror can be read, else 0.',
    registers,
  });
  const shown = gauges.map(({ name, help, labels: labelNames = [], read }) => ({
    gauge: new Gauge({ name: `market_mirror_${name}`, help, labelNames, registers }),
    isPlain: labelNames.length === 0,
    read,
  }));
  const calls = new Counter({
    name: 'market_mirror_upstream_calls_total',
    help: 'Calls to the API that the mirror has noted since serve began, by status; none where no answer came.',
    labelNames: ['job', 'code'],
    registers,
  });
  const walks = new Counter({
    name: 'market_mirror_walks_total',
    help: 'Walks that ended since serve began, by what they proved; failed for one that was given up.',
    labelNames: ['job', 'verdict'],
    registers,
  });
  const glances = new Counter({
    name: 'market_mirror_glances_total',
    help: 'Glances that ended since serve began: complete, or failed for one that was given up.',
    labelNames: ['job', 'status'],
    registers,
  });
  for (const job of jobs) {
    for (const code of usualCodes) calls.inc({ job, code }, 0);
    for (const verdict of ['snapshot', 'verified', 'union', 'failed']) walks.inc({ job, verdict }, 0);
    for (const status of ['complete', 'failed']) glances.inc({ job, status }, 0);
  }

  return {
    show(standing) {
      up.set(Number(standing !== undefined));
      for (const { gauge, isPlain, read } of shown) {
        gauge.reset();
        // One without labels would begin at 0.
        if (isPlain) gauge.remove();
        for (const [value, labels = {}] of standing ? read(standing) : [])
          if (value !== null) gauge.set(labels, value);
      }
    },
    add(tally) {
      for (const { job, status, count } of tally.calls)
        calls.inc({ job, code: status === null ? 'none' : String(status) }, count);
      for (const { job, kind, status, verdict, count } of tally.runs)
        if (kind === 'glance') glances.inc({ job, status }, count);
        else walks.inc({ job, verdict: verdict ?? 'failed' }, count);
    },
  };
}
