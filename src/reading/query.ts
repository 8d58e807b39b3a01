/** Asking the mirror in SQL: read-only, one statement, ended at any moment, in flat memory however many rows. */

import type { ChildProcess } from 'node:child_process';
import ms from 'ms';
import { type ChildLimits, startChild } from '../child.ts';
import { generalEnvironment } from '../environment.ts';
import { Failure, type FailureSent, receivedFailure } from '../errors.ts';
import type { Cell, Column, Rows } from '../output/answer.ts';
import { programArgs, programFile } from '../program-file.ts';
import { judge, type MostAges } from './query/proof.ts';
import type { Source } from './query/sources.ts';
import type { Params } from './query/statement.ts';

export type { Source } from './query/sources.ts';
export type { Params } from './query/statement.ts';

/** What is asked of a mirror. */
export type Question = {
  /** The folder of the mirror. */
  dir: string;
  sql: string;
  params: Params;
  /** The mirrored tables with their jobs. */
  tables: Readonly<Record<string, string>>;
  /** The time to look back to, ISO 8601 UTC with milliseconds, or null for now. */
  asOf: string | null;
  /** Look at every row first, to tell what each column holds: `Column.holds`. */
  survey?: boolean;
};

/** `seq` numbers the latest change that the answer can show, see the view `changes`. */
export type Opened = { columns: Column[]; sources: Source[]; seq: number };

/** What is said to the process that runs the query: a question, and `more` for each further part of its answer. */
export type QueryRequest = Question | 'more';

/** What it answers; an empty batch of rows is the end. */
export type QueryResponse = { opened: Opened } | { rows: Cell[][] } | FailureSent;

/** It goes on reading, though there is nothing to hand over yet. */
export const READING = 'reading';

/** `notes`: what whoever reads the answer should know of it, one line each. */
export type Answer = Rows & Judged;
export type Judged = Opened & { notes: string[] };

export type Bounds = MostAges & {
  signal: AbortSignal;
  /** Asked once the answer is there: a walk may have begun meanwhile. */
  now(): number;
  /** How long the query may take, reading its rows included. */
  timeoutMs?: number | undefined;
  /** How long it may go on without reading a row. */
  silentMs?: number | undefined;
};

/**
 * Asks, hands the answer to `read` and returns what that makes of it.
 * @throws Failure `usage` for SQL that is wrong or would write, and for a past that was dropped; `incomplete` where there
 * is no mirror yet, its data is too old or a bound ended the query; `config` for a mirror newer than this code.
 */
export type Ask = <T>(question: Question, bounds: Bounds, read: (answer: Answer) => Promise<T>) => Promise<T>;

/**
 * Gives `use` the means to ask one question. The process that will answer is started at once, since that takes
 * longer than most answers: what `use` has to do before it asks costs no time. The process ends with `use`.
 */
export async function asking<T>(use: (ask: Ask) => Promise<T>): Promise<T> {
  const process = startQueryProcess();
  try {
    return await use((question, bounds, read) =>
      process.ask(question, bounds, (judged, more) => read({ ...judged, batches: batchesOf(more) })),
    );
  } finally {
    process.end();
  }
}

async function* batchesOf(more: () => Promise<QueryResponse>): AsyncGenerator<Cell[][], void> {
  for (let next = more(); ; ) {
    const response = await next;
    if (!('rows' in response) || response.rows.length === 0) return;
    next = more();
    next.catch(() => undefined);
    yield response.rows;
  }
}

/** A query process: it answers one question at a time. */
export type QueryProcess<Response> = {
  /** Asks, and hands `read` what was opened and how to ask for more of it. */
  ask<T>(
    question: Question,
    bounds: Bounds,
    read: (opened: Judged, more: () => Promise<Exclude<Response, FailureSent>>) => Promise<T>,
  ): Promise<T>;
  /** Whether it can be asked: what was asked before has been answered to the end. Else it is of no more use. */
  isFree(): boolean;
  /** @param why what is being asked fails with it. */
  end(why?: Failure): void;
};

/** What the kernel holds a query process to. It writes no errors then: users may make it abort as often as they like. */
export type ProcessLimits = ChildLimits & {
  /** What is told where it ended for want of memory. */
  readonly outOfMemory: string;
};

/** @param Response what it answers to `more`. */
export function startQueryProcess<Response extends object = QueryResponse>(
  limits?: ProcessLimits,
): QueryProcess<Response> {
  const { child, kill } = startProcess(limits);
  const { exchange, hangUp, isFree } = openChannel(child, limits);

  async function ask<T>(
    question: Question,
    { signal, now, timeoutMs, silentMs, ...mostAges }: Bounds,
    read: (opened: Judged, more: () => Promise<Exclude<Response, FailureSent>>) => Promise<T>,
  ): Promise<T> {
    const deadline = timeoutMs === undefined ? [] : [AbortSignal.timeout(timeoutMs)];
    const end = AbortSignal.any([signal, ...deadline]);
    const giveUp = () => hangUp(end.reason);
    end.addEventListener('abort', giveUp, { once: true });
    if (end.aborted) hangUp(end.reason);
    try {
      const response = await exchange(question, silentMs);
      if (!('opened' in response)) throw new Failure('bug', 'the query was not opened');
      const opened = response.opened as Opened;
      const judged = judge(opened.sources, question.asOf, mostAges, now());
      const more = async () => (await exchange('more', silentMs)) as Exclude<Response, FailureSent>;
      return await read({ ...opened, ...judged }, more);
    } catch (thrown) {
      if (signal.aborted) throw new Failure('incomplete', 'stopped');
      if (end.aborted)
        throw new Failure(
          'incomplete',
          `the query took longer than ${ms(timeoutMs ?? 0)} and was ended: narrow it, or give it more time`,
        );
      throw thrown;
    } finally {
      // It must not end the answer to the next question.
      end.removeEventListener('abort', giveUp);
    }
  }

  return {
    ask,
    isFree,
    end(why) {
      if (why) hangUp(why);
      kill();
    },
  };
}

type Channel = {
  /** @throws Failure that the process sent, or that tells how it ended. */
  exchange(request: QueryRequest, silentMs?: number): Promise<object>;
  /** Makes the present exchange fail, and every one after it. */
  hangUp(reason: unknown): void;
  isFree(): boolean;
};

/** What Node.js ends itself by where it cannot get memory. */
const ABORTS: readonly (string | null)[] = ['SIGABRT', 'SIGTRAP', 'SIGILL', 'SIGSEGV', 'SIGBUS'];

function openChannel(child: ChildProcess, limits: ProcessLimits | undefined): Channel {
  let waiting: { resolve(response: object): void; reject(reason: unknown): void } | undefined;
  let silence: NodeJS.Timeout | undefined;
  let ended: unknown;
  let isFree = true;
  const hangUp = (reason: unknown) => {
    ended ??= reason;
    waiting?.reject(ended);
  };
  child.on('message', (said: object | typeof READING) => {
    silence?.refresh();
    if (said !== READING) waiting?.resolve(said as object);
  });
  child.on('error', hangUp);
  child.on('exit', (code, signal) => {
    const isForMemory = limits !== undefined && ABORTS.includes(signal);
    hangUp(
      new Failure(
        'incomplete',
        isForMemory ? limits.outOfMemory : `the process of the query ended (${signal ?? code})`,
      ),
    );
  });

  async function exchange(request: QueryRequest, silentMs?: number): Promise<object> {
    if (ended) throw ended;
    isFree = false;
    if (silentMs !== undefined) silence = setTimeout(() => hangUp(tooSilent(silentMs)), silentMs);
    try {
      const response = await new Promise<object>((resolve, reject) => {
        waiting = { resolve, reject };
        child.send(request);
      });
      isFree = 'failed' in response || 'end' in response || ('rows' in response && isEmpty(response.rows));
      if ('failed' in response) throw receivedFailure(response as FailureSent);
      return response;
    } finally {
      clearTimeout(silence);
    }
  }

  return { exchange, hangUp, isFree: () => isFree && ended === undefined };
}

const isEmpty = (rows: unknown) => Array.isArray(rows) && rows.length === 0;

const tooSilent = (silentMs: number) =>
  new Failure('incomplete', `the query read no row for ${ms(silentMs)} and was ended: narrow it`);

/** While SQLite computes, the process of a query notices nothing: it is killed. */
function startProcess(limits: ProcessLimits | undefined): { child: ChildProcess; kill(): void } {
  const program = [process.execPath, ...programArgs(programFile('query/process', import.meta.url))];
  const { child } = startChild(program, {
    env: generalEnvironment(),
    output: limits ? 'none' : 'errors',
    ipc: true,
    ...(limits && { limits }),
  });
  return { child, kill: () => void child.kill('SIGKILL') };
}
