/** Asking the mirror in SQL: read-only, one statement, ended at any moment, in flat memory however many rows. */

import type { ChildProcess } from 'node:child_process';
import ms from 'ms';
import { startChild } from '../child.ts';
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

/** What the asking process says to the one that runs the query. */
export type Asked = Question | 'more';

/** And what it answers; an empty batch of rows is the end. */
export type Answered = { opened: Opened } | { rows: Cell[][] } | FailureSent;

/** `notes`: what whoever reads the answer should know of it, one line each. */
export type Answer = Rows & Opened & { notes: string[] };

export type Bounds = MostAges & {
  signal: AbortSignal;
  /** Asked once the answer is there: a walk may have begun meanwhile. */
  now(): number;
  /** How long the query may take, reading its rows included. */
  timeoutMs?: number | undefined;
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
  const { ask, end } = startAsker();
  try {
    return await use(ask);
  } finally {
    end();
  }
}

/** A process that answers one question at a time, for who asks again and again. */
export type Asker = {
  ask: Ask;
  /** Whether it can be asked: what was asked before has been answered to the end. Else it is of no more use. */
  isFree(): boolean;
  end(): void;
};

export function startAsker(): Asker {
  const { child, end } = startProcess();
  const line = openLine(child);
  return {
    ask: (question, bounds, read) => askOnce(line, question, bounds, read),
    isFree: line.isFree,
    end,
  };
}

async function askOnce<T>(
  { exchange, hangUp }: Line,
  question: Question,
  { signal, now, timeoutMs, ...mostAges }: Bounds,
  read: (answer: Answer) => Promise<T>,
): Promise<T> {
  const deadline = timeoutMs === undefined ? [] : [AbortSignal.timeout(timeoutMs)];
  const end = AbortSignal.any([signal, ...deadline]);
  const giveUp = () => hangUp(end.reason);
  end.addEventListener('abort', giveUp, { once: true });
  if (end.aborted) hangUp(end.reason);
  try {
    const answered = await exchange(question);
    if (!('opened' in answered)) throw new Failure('bug', 'the query was not opened');
    const { opened } = answered;
    const judged = judge(opened.sources, question.asOf, mostAges, now());
    return await read({ ...opened, ...judged, batches: batchesOf(exchange) });
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

type Exchange = (asked: Asked) => Promise<Answered>;

async function* batchesOf(exchange: Exchange): AsyncGenerator<Cell[][], void> {
  for (let next = exchange('more'); ; ) {
    const answered = await next;
    if (!('rows' in answered) || answered.rows.length === 0) return;
    next = exchange('more');
    next.catch(() => undefined);
    yield answered.rows;
  }
}

/** `hangUp` makes the present exchange fail, and every one after it. */
type Line = Pick<Asker, 'isFree'> & { exchange: Exchange; hangUp(reason: unknown): void };

/** One question at a time. */
function openLine(child: ChildProcess): Line {
  let waiting: { resolve(answered: Answered): void; reject(reason: unknown): void } | undefined;
  let ended: unknown;
  let isFree = true;
  const hangUp = (reason: unknown) => {
    ended ??= reason;
    waiting?.reject(ended);
  };
  child.on('message', (answered: Answered) => waiting?.resolve(answered));
  child.on('error', hangUp);
  child.on('exit', (code, signal) =>
    hangUp(new Failure('incomplete', `the process of the query ended (${signal ?? code})`)),
  );
  const exchange: Exchange = async (asked) => {
    if (ended) throw ended;
    isFree = false;
    const answered = await new Promise<Answered>((resolve, reject) => {
      waiting = { resolve, reject };
      child.send(asked);
    });
    isFree = 'failed' in answered || ('rows' in answered && answered.rows.length === 0);
    if ('failed' in answered) throw receivedFailure(answered);
    return answered;
  };
  return { exchange, hangUp, isFree: () => isFree && ended === undefined };
}

/** While SQLite computes, the process of a query notices nothing: it is killed. */
function startProcess(): { child: ChildProcess; end(): void } {
  const program = [process.execPath, ...programArgs(programFile('query/process', import.meta.url))];
  const { child } = startChild(program, { env: generalEnvironment(), output: 'errors', ipc: true });
  return { child, end: () => void child.kill('SIGKILL') };
}
