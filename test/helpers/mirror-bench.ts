/** A mirror of a model API: real HTTP, a real store in a folder of its own, and time that a test moves. */

import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Statement } from 'better-sqlite3';
import {
  type Dataset,
  type DatasetName,
  type ModelApi,
  type ModelOptions,
  sampleKey,
  startModelApi,
} from '../../model-api/index.ts';
import { type Api, type ApiParts, createApi } from '../../src/api.ts';
import { keyFromValue } from '../../src/base/key.ts';
import type { Job } from '../../src/job.ts';
import { mirror, type Progress } from '../../src/mirror.ts';
import { type Connection, openConnection, openReadOnly } from '../../src/store/connection.ts';
import { openStore, type Store, type WalkRow } from '../../src/store.ts';
import type { Hints } from '../../src/validate.ts';
import type { WalkKind } from '../../src/walk.ts';
import { cached } from './cached.ts';
import { layEmptyMirror } from './empty-mirror.ts';
import { memory, removeFolder } from './folder.ts';
import { loadJobs } from './jobs.ts';
import { type VirtualClock, virtualClock } from './virtual-clock.ts';

export type BenchOptions = ModelOptions & {
  /** Those of `jobs/` if not given. */
  jobs?: readonly Job[];
  /** Datasets that the mirror has walked once, in this order. */
  walked?: readonly string[];
};

export type Bench = {
  model: ModelApi;
  clock: VirtualClock;
  /** What the user says of lists. */
  hints: Hints;
  /** Folder of the mirror. */
  dir: string;
  jobs: readonly Job[];
  /** The store as it is open now; another one after `reopen`. */
  readonly store: Store;
  readonly api: Api;
  /** Lets every call pass at once. */
  sideBySide: ReturnType<typeof createSideBySide>;
  job(name: string): Job;
  /** The model's dataset that a job mirrors. */
  upstream(job: string): Dataset;
  /** One pass over one dataset; `progress` is told of every transaction. */
  mirror(
    job: string,
    progress?: (at: Progress) => void,
    signal?: AbortSignal,
    kind?: WalkKind,
  ): Promise<WalkRow>;
  /** One look at the head of one dataset. */
  glance(job: string, progress?: (at: Progress) => void, signal?: AbortSignal): Promise<WalkRow>;
  /** Rows of a query, read as any SQL tool would: over a read-only connection of its own, which stays open. */
  sql<Row = Record<string, unknown>>(query: string, ...values: (string | number | null)[]): Row[];
  /** Rows of a table by key. */
  table(name: string): Map<string, Record<string, unknown>>;
  /** Changes the database behind the mirror's back. */
  tamper(statements: string): void;
  /** Empties the mirror, as if nothing had ever been mirrored; known columns stay. */
  clear(): void;
  /** Closes the store and opens it again. A walk under way finds its store gone, as after a crash, and rejects. */
  reopen(meanwhile?: () => void): void;
  close(): Promise<void>;
};

/** Read once, since that takes longer than to open a mirror. */
const declared = loadJobs();

/** Starts a model, on the bench's clock, and opens an empty mirror of it. Close it when done. */
export async function openBench({ jobs: given, walked = [], ...options }: BenchOptions = {}): Promise<Bench> {
  // Copies: a test may change one.
  const jobs = given ?? (await declared).map((job) => ({ ...job }));
  const isPlain = !given && Object.keys(options).every((option) => option === 'rows');
  const copied =
    isPlain && walked.length > 0 ? await walkedMirror(JSON.stringify({ ...options, walked })) : undefined;
  const clock = virtualClock(copied?.now);
  const model = await startModelApi({ now: clock.now, ...options });
  const dir = mkdtempSync(join(memory, 'mirror-bench-'));
  if (!given && !copied) await layEmptyMirror(dir);
  for (const [name, content] of copied?.files ?? []) writeFileSync(join(dir, name), content);
  let store = openStore(dir, jobs, clock.now);
  const sideBySide = createSideBySide();
  const api = createApi({
    baseUrl: model.url,
    key: keyFromValue(sampleKey.key),
    governor: {
      ...sideBySide.governor,
      async acquire(job, signal) {
        signal.throwIfAborted();
        return await sideBySide.governor.acquire(job, signal);
      },
    },
    record: (call) => store.recordCall(call),
    clock,
    random: () => 0.5,
    userAgent: 'bench',
  });
  let reader: Connection | undefined;
  const statements = new Map<string, Statement>();
  const endReader = () => {
    reader?.close();
    reader = undefined;
    statements.clear();
  };
  const reopen = (meanwhile = () => {}) => {
    endReader();
    store.close();
    meanwhile();
    store = openStore(dir, jobs, clock.now);
  };

  const bench: Bench = {
    model,
    clock,
    hints: {},
    dir,
    jobs,
    get store() {
      return store;
    },
    api,
    sideBySide,
    job: (name) =>
      found(
        jobs.find((job) => job.name === name),
        name,
      ),
    upstream: (name) => found(model.data[datasetOf[name] as DatasetName], name),
    mirror: (name, progress, signal = new AbortController().signal, kind = 'walk') =>
      mirror(
        bench.job(name),
        { api, store, hints: bench.hints, ...(progress ? { progress } : {}) },
        signal,
        kind,
      ),
    glance: (name, progress, signal) => bench.mirror(name, progress, signal, 'glance'),
    sql<Row>(query: string, ...values: (string | number | null)[]) {
      reader ??= openReadOnly(store.file);
      const statement = statements.get(query) ?? reader.prepare(query);
      statements.set(query, statement);
      return statement.all(...values) as Row[];
    },
    table: (name) => new Map(bench.sql(`SELECT * FROM "${name}"`).map((row) => [String(row['_key']), row])),
    tamper(statements) {
      const connection = openConnection(store.file);
      connection.exec(statements);
      connection.close();
    },
    clear() {
      const tables = bench
        .sql<{ name: string }>(`SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name`)
        .filter(({ name }) => !/^sqlite_|^__drizzle|^fields$|^_identity$/.test(name));
      // Twice, since what leaves a table goes into its history.
      const deletions = [...tables, ...tables].map(({ name }) => `DELETE FROM "${name}";`);
      bench.tamper(`BEGIN; ${deletions.join(' ')} COMMIT;`);
    },
    reopen,
    async close() {
      endReader();
      store.close();
      await api.close();
      await model.close();
      removeFolder(dir);
    },
  };
  if (!copied) for (const job of walked) await bench.mirror(job);
  return bench;
}

type WalkedMirror = { files: [name: string, content: Buffer][]; now: number };

/** Walked once and then copied, which takes a hundredth of the time. Nothing changes them. The key is JSON. */
const walkedMirror = cached(async (key: string): Promise<WalkedMirror> => {
  const { walked, ...rows } = JSON.parse(key) as Pick<BenchOptions, 'rows'> & { walked: string[] };
  const bench = await openBench(rows);
  try {
    for (const job of walked) await bench.mirror(job);
    const connection = openReadOnly(bench.store.file);
    const database = connection.serialize();
    connection.close();
    const id = readFileSync(join(bench.dir, 'mirror.id'));
    return {
      files: [
        ['mirror.db', database],
        ['mirror.id', id],
      ],
      now: bench.clock.now(),
    };
  } finally {
    await bench.close();
  }
});

export const datasetOf: Readonly<Record<string, DatasetName>> = {
  'ai-signals': 'aiSignals',
  news: 'news',
  'smart-wallets': 'smartWallets',
  'meme-signals': 'memeSignals',
};

function found<T>(value: T | undefined, name: string): T {
  if (value === undefined) throw new Error(`the bench has no ${name}`);
  return value;
}

/** Calls side by side: they are answered in an order that a test draws. */
function createSideBySide() {
  const held: { offset: number; go(): void }[] = [];
  let order: readonly number[] = [0];
  let answered = 0;
  let underWay = 0;

  /** Once all that were sent have arrived. */
  function answerOne(): void {
    if (held.length === 0 || held.length < underWay) return;
    held.sort((one, other) => one.offset - other.offset);
    const at = (order[answered % order.length] ?? 0) % held.length;
    answered += 1;
    held.splice(at, 1)[0]?.go();
  }

  const governor: ApiParts['governor'] = {
    async acquire() {
      underWay += 1;
      return () => {
        underWay -= 1;
        // The client that got this answer sends its next calls first.
        setImmediate(answerOne);
      };
    },
    keyChanged() {},
  };
  return {
    governor,
    /** Of the calls that have arrived, by offset, the one is answered that stands at the next place of `order`. */
    answerIn(inOrder: readonly number[]): void {
      [order, answered] = [inOrder, 0];
    },
    /** For the API to wait with an answer until its turn has come. */
    hold: (offset: number) =>
      new Promise<void>((resolve) => {
        held.push({ offset, go: resolve });
        answerOne();
      }),
    /** Resolves when no call is held any more. */
    async allAnswered(): Promise<void> {
      while (held.length > 0) {
        for (const { go } of held.splice(0)) go();
        await new Promise(setImmediate);
      }
    },
    /** Calls whose answer has not come. */
    get underWay() {
      return underWay;
    },
  };
}
