/**
 * What operators see of the service: its measurements for Prometheus, and whether it is ready. What the mirror can tell is read
 * from it when somebody asks, and kept for a moment, so that asking often costs little.
 */

import { statSync } from 'node:fs';
import { Registry } from 'prom-client';
import type { Clock } from '../../clock.ts';
import type { Dataset } from '../../job-list.ts';
import type { Spending } from '../../plan.ts';
import { readLastWalks } from '../../reading/last-walks.ts';
import { healthOf } from '../../reading/status.ts';
import { openTally, type Tally } from '../../reading/tally.ts';
import type { Connection } from '../../store/read.ts';
import type { Mirror } from './answers.ts';
import { mirrorMetrics, type Standing } from './metrics/of-mirror.ts';
import { type ProcessMetrics, processMetrics } from './metrics/of-process.ts';
import { type Readiness, readinessOf, unreadable, withKeys } from './metrics/readiness.ts';

export { createAccessLog } from './metrics/access-log.ts';
export type { Readiness } from './metrics/readiness.ts';

export type Metrics = ProcessMetrics & {
  /** Of the mirror and the keys, as they are now. */
  readiness(): Readiness;
  expose(): Promise<Exposition>;
};

/** In the text format of Prometheus. */
export type Exposition = { readonly contentType: string; readonly text: string };

export type MetricsParts = {
  dir: string;
  mirror: Pick<Mirror, 'read'>;
  /** Whether the database of keys and counts can be read now. */
  keysUp(): boolean;
  datasets: readonly Dataset[];
  spending: Spending;
  /** What the service answers at most, in milliseconds, by job. */
  maxAgeMs: Readonly<Record<string, number>>;
  /** The names of all endpoints. */
  routes: readonly string[];
  version: string;
  clock: Pick<Clock, 'now' | 'monotonic'>;
};

const KEPT_MS = 1_000;

export function openMetrics({ mirror, keysUp, routes, version, clock, ...parts }: MetricsParts): Metrics {
  const { dir, datasets, spending, maxAgeMs } = parts;
  const jobs = datasets.map(({ name }) => name);
  const registry = new Registry();
  const ofProcess = processMetrics(registry, routes, version);
  const ofMirror = mirrorMetrics(registry, jobs);
  const tallies = new WeakMap<Connection, () => Tally>();

  const standing = keptFor(clock, () =>
    mirror.read(({ connection }) => connection.transaction(() => standingOf(connection))()),
  );

  function standingOf(connection: Connection): Standing {
    const health = healthOf(connection, dir, datasets, spending, clock.now());
    const tally = tallies.get(connection) ?? openTally(connection, jobs);
    tallies.set(connection, tally);
    ofMirror.add(tally());
    return {
      ...health,
      readiness: readinessOf(health.datasets, maxAgeMs),
      lastWalks: readLastWalks(connection, jobs),
      databaseBytes: statSync(connection.name, { throwIfNoEntry: false })?.size ?? 0,
    };
  }

  const exposition = keptFor(clock, async () => {
    ofMirror.show(standing());
    // Looking tells `keysTold` what has become of them.
    keysUp();
    return { contentType: registry.contentType, text: await registry.metrics() };
  });

  // What comes before the first scrape is to be counted.
  standing();
  return {
    ...ofProcess,
    readiness: () => withKeys(standing()?.readiness ?? unreadable, keysUp()),
    expose: exposition,
  };
}

function keptFor<Value>({ monotonic }: Pick<Clock, 'monotonic'>, make: () => Value): () => Value {
  let kept: { value: Value; at: number } | undefined;
  return () => {
    if (!kept || monotonic() - kept.at >= KEPT_MS) kept = { value: make(), at: monotonic() };
    return kept.value;
  };
}
