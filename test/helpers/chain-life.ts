/**
 * Lives of mirrors of mirrors, all within quotas: each reads from the service of the one above it, the first from the model API.
 * Upstream is edited while all of them read; then it rests, and every level must hold what the one above holds.
 */

import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import { type Dataset, sampleKey, seededRandom, startModelApi } from '../../model-api/index.ts';
import { type App, openApp } from '../../src/app.ts';
import { Snooze } from '../../src/base/errors.ts';
import { parseQuota } from '../../src/serve/access/limits.ts';
import { openReadOnly } from '../../src/store/connection.ts';
import type { WalkRow } from '../../src/store.ts';
import { both, bump, change, type Edit, insert, move, publish, remove } from './edits.ts';
import { memory, removeFolder } from './folder.ts';
import { datasetOf } from './mirror-bench.ts';
import { listNames, serveMirror } from './serve-bench.ts';
import { differences, mirroredForm } from './truth.ts';
import { type VirtualClock, virtualClock } from './virtual-clock.ts';

export type ChainLife = {
  depth: number;
  rows: number;
  /** Of every level's account, as on the command line, such as `100/1h`. */
  quota: string;
  rounds: number;
  seed: number;
};

type Level = ReturnType<typeof levelOf>;

const MINUTE = 60_000;

/** @throws an Error that says which promise was broken, and where. */
export async function liveChain(life: ChainLife): Promise<{ edits: number }> {
  const random = seededRandom(life.seed);
  const { model, clock, levels, close } = await openChain(life, random);
  const datasets = Object.fromEntries(
    listNames.map((name) => [name, model.data[datasetOf[name] as keyof typeof model.data]]),
  );
  const removed = new Set<string>();
  let edits = 0;
  model.beforeAnswer = () => {
    if (random() < 0.4) return;
    const name = listNames[Math.floor(random() * listNames.length)] ?? 'news';
    editAtRandom(name, datasets[name] as Dataset, random, edits, removed);
    edits += 1;
  };
  try {
    for (let round = 0; round < life.rounds; round += 1) {
      // Side by side, so that a level is read while it changes. Nothing is served before a walk has ended.
      await Promise.all(
        levels.map(async (level) => {
          for (const job of listNames)
            await level.mirror(job, round > 0 && random() < 0.3 ? 'glance' : 'walk');
        }),
      );
      clock.advance(Math.floor(random() * 10 * MINUTE));
    }
    model.beforeAnswer = undefined;
    for (const level of levels) for (const job of listNames) await proveTwice(level, job);
    for (const job of listNames) checkLevels(levels, job, datasets[job] as Dataset, removed);
    return { edits };
  } finally {
    await close();
  }
}

async function openChain({ depth, rows, quota }: ChainLife, random: () => number) {
  const clock = virtualClock();
  const limits = { quota: parseQuota(quota) };
  const { calls, periodMs } = limits.quota;
  const model = await startModelApi({ rows, now: clock.now, quota: { limit: calls, periodMs } });
  const ends: (() => Promise<void> | void)[] = [() => model.close()];
  const levels: Level[] = [];
  let above: { url: string; key: string } = { url: model.url, key: sampleKey.key };
  for (let level = 0; level < depth; level += 1) {
    const dir = mkdtempSync(join(memory, 'mirror-bench-'));
    ends.push(() => removeFolder(dir));
    const environment = { MARKET_API_URL: above.url, MARKET_API_KEY: above.key, MIRROR_DIR: dir };
    const app = await openApp({ environment, clock, random });
    ends.push(app.close);
    levels.push(levelOf(app, dir, clock));
    const service = await serveMirror(dir, app.jobs, clock, limits);
    ends.push(service.close);
    above = service;
  }
  const close = async () => {
    for (const end of ends.reverse()) await end();
  };
  return { model, clock, levels, close };
}

function levelOf(app: App, dir: string, clock: VirtualClock) {
  function sql<Row>(query: string, ...values: string[]): Row[] {
    const connection = openReadOnly(join(dir, 'mirror.db'));
    try {
      return connection.prepare<string[], Row>(query).all(...values);
    } finally {
      connection.close();
    }
  }
  return {
    sql,
    /** One walk or glance from its beginning to its end, over every wait for quota. */
    async mirror(name: string, kind: WalkRow['kind'] = 'walk'): Promise<WalkRow> {
      const { signal } = new AbortController();
      for (;;)
        try {
          return await app.mirror(app.job(name), signal, undefined, kind);
        } catch (thrown) {
          if (!(thrown instanceof Snooze)) throw thrown;
          clock.advance(Math.max(1, thrown.until - clock.now()));
        }
    },
    /** Rows by key, without what each mirror adds to them for itself. */
    rows(name: string): Map<string, string> {
      const job = app.job(name);
      const all = sql<Record<string, unknown>>(`SELECT * FROM "${name.replaceAll('-', '_')}"`);
      return new Map(all.map((row) => [String(row['_key']), JSON.stringify(mirroredForm(job, row))]));
    },
  };
}

/** What is removed never comes back. A published snapshot changes with its time alone, and its rows are what the contract lists. */
function editAtRandom(
  name: string,
  dataset: Dataset,
  random: () => number,
  edits: number,
  removed: Set<string>,
): void {
  const anyRow = () => Math.floor(random() * dataset.rows.length);
  const at = anyRow();
  const isRemoval = random() < 0.3 && dataset.rows.length > 20;
  if (isRemoval) removed.add(String(dataset.rows[at]?.[dataset.idField]));
  const others = [insert(0, 2), bump(at), move(at, anyRow()), change(at, { kind: `of edit ${edits}` })];
  const edit = isRemoval ? remove(at) : (others[Math.floor(random() * others.length)] as Edit);
  const published = publish(new Date(Date.parse('2026-01-01') + edits * MINUTE).toISOString());
  if (name === 'ai-signals') both(isRemoval ? edit : insert(0, 1), published)(dataset);
  else edit(dataset);
}

/** Two proofs in a row remove what is gone. */
async function proveTwice(level: Level, job: string): Promise<void> {
  for (let proofs = 0, walks = 0; proofs < 2; walks += 1) {
    expectThat(walks <= 6, `${job} is proven, since nothing changes`);
    const { verdict } = await level.mirror(job);
    if (verdict === 'snapshot' || verdict === 'verified') proofs += 1;
  }
}

function checkLevels(
  levels: readonly Level[],
  job: string,
  { rows, idField }: Dataset,
  removed: ReadonlySet<string>,
): void {
  const expected = job === 'ai-signals' ? 'snapshot' : 'verified';
  const keys = new Set(rows.map((row) => String(row[idField])));
  let above = levels[0]?.rows(job) ?? new Map<string, string>();
  expectThat(
    above.size === keys.size && [...keys].every((key) => above.has(key)),
    `${job}: the first level holds what is upstream`,
  );
  for (const [depth, level] of levels.entries()) {
    const at = `${job}, level ${depth + 1}`;
    const [last] = level.sql<{ verdict: string }>(
      `SELECT verdict FROM walks WHERE job = ? AND kind = 'walk' ORDER BY id DESC LIMIT 1`,
      job,
    );
    expectThat(last?.verdict === expected, `${at}: the verdict is ${expected}, not ${last?.verdict}`);
    const held = level.rows(job);
    const found = differences(above, held);
    expectThat(found.lost.length === 0, `${at}: nothing is lost, as ${found.lost} is`);
    expectThat(found.false.length === 0, `${at}: nothing is only there, as ${found.false} is`);
    const gone = level.sql<{ _key: string }>(
      `SELECT _key FROM "${job.replaceAll('-', '_')}_history" WHERE _ended_by = 'delete'`,
    );
    const wrong = gone.filter(({ _key }) => !removed.has(_key));
    expectThat(wrong.length === 0, `${at}: ${wrong.length} rows that are upstream were not removed`);
    above = held;
  }
}

function expectThat(holds: boolean, promise: string): void {
  if (!holds) throw new Error(`broken: ${promise}`);
}
