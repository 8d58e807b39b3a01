/** A report worker that follows the mirror by `export --since` and keeps a copy of every list, and an operator. */

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Job } from '../../src/job.ts';
import type { Status } from '../../src/reading/status.ts';
import { count } from './world/daemon.ts';
import { type Form, type Forms, formOf } from './world/upstream.ts';
import type { World } from './world.ts';

type ChangedRow = { _change: 'insert' | 'update' | 'delete'; _key: string };

const ASK_AGAIN = { times: 30, ms: 1_000 };

/** JSON has lists, objects and booleans as such, the table as text and numbers. */
const asInTable = (row: object) =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => {
      if (typeof value === 'boolean') return [name, Number(value)];
      return [name, value !== null && typeof value === 'object' ? JSON.stringify(value) : value];
    }),
  );

export type Consumer = ReturnType<typeof follow>;

export function follow(world: World) {
  const { lists } = world.upstream;
  let copies = new Map<string, Map<string, Form>>();
  let cursors = new Map<string, number>();
  let isStopped = false;
  /** Changes that cannot be: a row that came twice, or that changed or went although it was not there. */
  const contradictions: string[] = [];
  const counts = { polls: 0, rows: 0 };
  /** Polls that brought nothing, by exit code. */
  const failed = new Map<string, number>();
  let isResting = false;
  const turns = new Map<string, Promise<boolean>>();

  /** @returns whether it was answered. */
  async function poll(job: Job): Promise<boolean> {
    const before = copies;
    const file = join(world.scratch, `since-${job.name}.ndjson`);
    const since = String(cursors.get(job.name) ?? 0);
    const command = [
      'export',
      job.name,
      '--since',
      since,
      '--format',
      'ndjson',
      '-o',
      file,
      '--with-body',
      '--force',
      '--json',
    ];
    const { code, stdout, stderr } = await world.cli(...command);
    // The answer of a mirror that has been replaced does not count.
    if (copies !== before) return false;
    counts.polls += 1;
    if (code !== 0) {
      count(failed, `exit ${code}`);
      // The first whole walk has found the key of the list: the copy is made anew.
      if (/have got other keys/.test(stderr)) startOverWith(job);
      return false;
    }
    const copy = copies.get(job.name) ?? new Map<string, Form>();
    copies.set(job.name, copy);
    for (const line of readFileSync(file, 'utf8').split('\n').filter(Boolean))
      take(job, copy, JSON.parse(line));
    cursors.set(job.name, (JSON.parse(stdout) as { seq: number }).seq);
    return true;
  }

  function startOverWith(job: Job): void {
    copies.delete(job.name);
    cursors.delete(job.name);
  }

  function take(job: Job, copy: Map<string, Form>, row: ChangedRow): void {
    const { _change: change, _key: key } = row;
    counts.rows += 1;
    if (copy.has(key) !== (change !== 'insert'))
      contradictions.push(`${job.name}: the consumer was told of the ${change} of ${key}`);
    if (change === 'delete') copy.delete(key);
    else copy.set(key, formOf(job, asInTable(row)));
  }

  /** One poll of a list at a time. */
  function inTurn(job: Job): Promise<boolean> {
    const polled = (turns.get(job.name) ?? Promise.resolve(true))
      .then(() => poll(job))
      .catch((thrown: unknown) => {
        contradictions.push(`${job.name}: the export cannot be read: ${thrown}`);
        return false;
      });
    turns.set(job.name, polled);
    return polled;
  }

  async function patiently(job: Job): Promise<void> {
    for (let times = 0; times < ASK_AGAIN.times; times += 1) {
      if (await inTurn(job)) return;
      await delay(ASK_AGAIN.ms);
    }
  }

  async function run(): Promise<void> {
    for (let at = 0; !isStopped; at += 1) {
      const job = lists[at % lists.length];
      if (job && !isResting) await inTurn(job);
      else await delay(100);
    }
  }
  const running = run();

  return {
    /** Its copy of a list, by key. */
    copy: (job: string): Forms => copies.get(job) ?? new Map(),
    /** Polls no more until it is to catch up. */
    rest() {
      isResting = true;
    },
    /** Asks once more for every list, at once; keeps trying for 30 s. */
    async catchUp() {
      isResting = true;
      await Promise.all(lists.map(patiently));
      isResting = false;
    },
    /** Starts again from nothing, as after a restored backup. Polls that are under way do not count. */
    startOver() {
      copies = new Map();
      cursors = new Map();
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
  let isResting = false;

  async function look(): Promise<void> {
    const asked = Date.now();
    const { code, stdout } = await world.cli('status', '--json');
    counts.asked += 1;
    if (code !== 0) return count(others, `exit ${code}`);
    counts.green += 1;
    const { datasets } = JSON.parse(stdout) as Status;
    // Read after the answer: by then the mirror can only be newer, so a row that is too old now was too old then.
    const shown = new Map(lists.map(({ name }) => [name, world.shown(name)]));
    await world.upstream.heard();
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
        if (!isResting) await look();
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
    rests(yes: boolean) {
      isResting = yes;
    },
    async stop() {
      isStopped = true;
      await running;
    },
  };
}
