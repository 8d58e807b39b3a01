/** Mirrors of mirrors: each reads from the service of the one above it, and the first from the model API, all within quotas. */

import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { type ModelApi, sampleKey, startModelApi } from '../../model-api/index.ts';
import { type App, openApp } from '../../src/app.ts';
import { Snooze } from '../../src/errors.ts';
import { parseQuota } from '../../src/serve/service/limits.ts';
import { openReadOnly } from '../../src/store/connection.ts';
import type { WalkRow } from '../../src/store.ts';
import { roomOf } from './mirror-bench.ts';
import { serveMirror } from './serve-bench.ts';
import { mirroredForm } from './truth.ts';
import { type VirtualClock, virtualClock } from './virtual-clock.ts';

export type Level = {
  app: App;
  /** One walk or glance from its beginning to its end, over every wait for quota. */
  mirror(job: string, kind?: WalkRow['kind']): Promise<WalkRow>;
  /** Rows by key, without what each mirror adds to them for itself. */
  rows(job: string): Map<string, string>;
  sql<Row>(query: string, ...values: string[]): Row[];
};

export type Chain = {
  model: ModelApi;
  clock: VirtualClock;
  /** From the one that reads from the model. */
  levels: Level[];
  close(): Promise<void>;
};

export type ChainOptions = {
  depth: number;
  rows: number;
  /** Of every level's account, as on the command line, such as `100/1h`. */
  quota: string;
  random: () => number;
};

export async function openChain({ depth, rows, quota, random }: ChainOptions): Promise<Chain> {
  const clock = virtualClock();
  const limits = { quota: parseQuota(quota) };
  const { calls, periodMs } = limits.quota;
  const model = await startModelApi({ rows, now: clock.now, quota: { limit: calls, periodMs } });
  const ends: (() => Promise<void> | void)[] = [() => model.close()];
  const levels: Level[] = [];
  let above: { url: string; key: string } = { url: model.url, key: sampleKey.key };
  for (let level = 0; level < depth; level += 1) {
    const dir = mkdtempSync(join(roomOf(), 'mirror-bench-'));
    ends.push(() => rmSync(dir, { recursive: true, force: true }));
    const environment = { MARKET_API_URL: above.url, MARKET_API_KEY: above.key, MIRROR_DIR: dir };
    const app = await openApp({ environment, clock, random });
    ends.push(app.close);
    levels.push(levelOf(app, dir, clock));
    const service = await serveMirror(dir, app.jobs, clock, limits);
    ends.push(service.close);
    above = service;
  }
  return {
    model,
    clock,
    levels,
    async close() {
      for (const end of ends.reverse()) await end();
    },
  };
}

function levelOf(app: App, dir: string, clock: VirtualClock): Level {
  const sql = <Row>(query: string, ...values: string[]) => {
    const connection = openReadOnly(join(dir, 'mirror.db'));
    try {
      return connection.prepare<string[], Row>(query).all(...values);
    } finally {
      connection.close();
    }
  };
  return {
    app,
    sql,
    async mirror(name, kind = 'walk') {
      const { signal } = new AbortController();
      for (;;)
        try {
          return await app.mirror(app.job(name), signal, undefined, kind);
        } catch (thrown) {
          if (!(thrown instanceof Snooze)) throw thrown;
          clock.advance(Math.max(1, thrown.until - clock.now()));
        }
    },
    rows(name) {
      const job = app.job(name);
      const all = sql<Record<string, unknown>>(`SELECT * FROM "${name.replaceAll('-', '_')}"`);
      return new Map(all.map((row) => [String(row['_key']), JSON.stringify(mirroredForm(job, row))]));
    },
  };
}
