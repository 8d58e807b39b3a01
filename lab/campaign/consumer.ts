/** A client that follows the change feed of `serve` and keeps a copy of every list, and an operator. */

import { setTimeout as delay } from 'node:timers/promises';
import type { Random } from '../../model-api/index.ts';
import type { Job } from '../../src/job.ts';
import type { Status } from '../../src/reading/status.ts';
import { count } from './world/programs.ts';
import { digest, type Form, type Forms } from './world/upstream.ts';
import { tableOf, type World } from './world.ts';

type Change = {
  dataset: string;
  key: string;
  change: 'insert' | 'update' | 'delete';
  row: Record<string, unknown> | null;
};
type Feed = { changes: Change[]; next: string; hasMore: boolean };

const LIMIT = 200;
const PATIENCE_MS = 10_000;
const POLL_EVERY_MS = 100;
const CATCH_UP_MS = 30_000;
/** Answers that it has not kept when it is killed. */
const NOT_KEPT = 0.2;

/** A row as the feed shows it: without values that make no version; a column that is found later has no value. */
function feedForm({ volatile }: Job, row: Record<string, unknown>): Form {
  const shown = Object.entries(row).filter(
    ([name, value]) => value !== null && !name.startsWith('_') && !volatile.includes(name),
  );
  return digest(Object.fromEntries(shown.map(([name, value]) => [name, asInTable(value)])));
}

/** JSON has lists, objects and booleans as such, the table as text and numbers. */
function asInTable(value: unknown): unknown {
  if (typeof value === 'boolean') return Number(value);
  return typeof value === 'object' ? JSON.stringify(value) : value;
}

export type Consumer = ReturnType<typeof follow>;

/** @param key of `serve`. */
export function follow(world: World, key: string, random: Random) {
  const { lists } = world.upstream;
  const jobs = new Map(lists.map((job) => [tableOf(job.name), job]));
  let copies = new Map<string, Map<string, Form>>();
  let since: string | undefined;
  let isStopped = false;
  /** Changes that cannot be: a row that came twice, or that changed or went although it was not there. */
  const contradictions: string[] = [];
  const counts = { polls: 0, changes: 0, anew: 0 };
  /** Polls that brought nothing, by status and reason. */
  const failed = new Map<string, number>();

  /** @returns whether it has all that there is. */
  async function poll(): Promise<boolean> {
    counts.polls += 1;
    const url = `${world.serveUrl}/mirror/v1/changes?limit=${LIMIT}${since ? `&since=${since}` : ''}`;
    const headers = { authorization: `Bearer ${key}` };
    const answer = await fetch(url, { headers, signal: AbortSignal.timeout(PATIENCE_MS) })
      .then(async (response) => ({ status: response.status, json: await response.json() }))
      // It was killed, also in the middle of an answer.
      .catch(() => ({ status: 0, json: { details: 'no answer' } }));
    const { status, json } = answer as { status: number; json: Feed & { details?: string } };
    if (status !== 200) count(failed, `${status} ${json.details}`);
    if (status === 410) startOver();
    if (status !== 200 || random() < NOT_KEPT) return false;
    for (const change of json.changes) take(change);
    since = json.next;
    return !json.hasMore;
  }

  function startOver(): void {
    copies = new Map();
    since = undefined;
    counts.anew += 1;
  }

  function take({ dataset, key, change, row }: Change): void {
    const job = jobs.get(dataset);
    if (!job) return;
    const copy = copies.get(job.name) ?? new Map<string, Form>();
    copies.set(job.name, copy);
    counts.changes += 1;
    if (copy.has(key) !== (change !== 'insert'))
      contradictions.push(`${job.name}: the client was told of the ${change} of ${key}`);
    if (row === null) copy.delete(key);
    else copy.set(key, feedForm(job, row));
  }

  let polled = Promise.resolve(true);
  /** One poll at a time. */
  function inTurn(): Promise<boolean> {
    polled = polled.then(poll);
    return polled;
  }

  async function run(): Promise<void> {
    while (!isStopped) {
      await inTurn();
      await delay(POLL_EVERY_MS);
    }
  }
  const running = run();

  return {
    /** Its copy of a list, by key. */
    copy: (job: string): Forms => copies.get(job) ?? new Map(),
    /** What its copy has to be, by the database. */
    expected: (job: Job): Forms =>
      new Map(
        world
          .sql(`SELECT * FROM "${tableOf(job.name)}"`)
          .map((row) => [String(row['_key']), feedForm(job, row)]),
      ),
    /** Asks until it has all that there is, for 30 s at most. */
    async catchUp() {
      const until = performance.now() + CATCH_UP_MS;
      while (!(await inTurn()) && performance.now() < until) await delay(POLL_EVERY_MS);
    },
    contradictions,
    counts,
    failed,
    async stop() {
      isStopped = true;
      await running;
    },
  };
}

/** Ages are rounded to tenths of a second, and libfaketime looks at its file once a second. */
const TOLERANCE_MS = 2_500;
const PAUSE_MS = 500;

export type Watch = ReturnType<typeof watch>;

/** An operator who asks `status` again and again. It must never be green while rows are older than it says. */
export function watch(world: World) {
  const { journal, lists } = world.upstream;
  /** How often `status` was green although rows were older than it said. */
  const lies: string[] = [];
  const counts = { asked: 0, green: 0 };
  /** How often it was not green, by exit code. */
  const others = new Map<string, number>();
  let isStopped = false;

  async function look(): Promise<void> {
    const asked = Date.now();
    const { code, stdout } = await world.cli('status', '--json');
    counts.asked += 1;
    if (code !== 0) return count(others, `exit ${code}`);
    counts.green += 1;
    const { datasets } = JSON.parse(stdout) as Status;
    // Read after the answer: by then the mirror can only be newer, so a row that is too old now was too old then.
    const shown = new Map(lists.map(({ name }) => [name, world.shown(name)]));
    for (const { name } of lists) {
      const ageMs = (datasets.find(({ job }) => job === name)?.ageSeconds ?? Number.NaN) * 1_000;
      const old = journal.shownTooOld(name, shown.get(name) ?? new Map(), asked - ageMs - TOLERANCE_MS);
      if (old.length > 0 || Number.isNaN(ageMs))
        lies.push(
          `status was green with ${name} ${ageMs} ms old, but ${old.length} rows were older, such as ${old[0]}`,
        );
    }
  }

  async function run(): Promise<void> {
    while (!isStopped) {
      try {
        await look();
      } catch {
        // The database was taken away under the reader, as some attacks do.
        count(others, 'unreadable');
      }
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }
  const running = run();
  return {
    lies,
    counts,
    others,
    async stop() {
      isStopped = true;
      await running;
    },
  };
}
