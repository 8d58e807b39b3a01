/** Asking the mirror in SQL: read-only, one statement, ended at any moment, in flat memory however many rows. */

import { type ChildProcess, fork } from 'node:child_process';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import ms from 'ms';
import { Failure } from '../errors.ts';
import { openMirror } from '../store/read.ts';
import type { Answered, Asked, Cell, Opened, Question } from './query/protocol.ts';

export type { Cell, Column, Question } from './query/protocol.ts';
export type { Source } from './query/sources.ts';
export type { Param, Params } from './query/statement.ts';
export type { Holding } from './query/survey.ts';

export type Answer = Opened & {
  /** The rows, some at a time; the next are fetched while these are looked at. */
  batches: AsyncGenerator<Cell[][], void>;
};

/** `timeoutMs`: how long the query may take, reading its rows included. */
export type Limits = { signal: AbortSignal; timeoutMs?: number | undefined };

/**
 * Asks, hands the answer to `read` and returns what that makes of it. The query ends with `read`, whether its
 * rows were read or not.
 * @throws Failure `usage` for SQL that is wrong or would write, `incomplete` where there is no mirror yet or a
 * limit ended the query, `config` for a mirror newer than this code.
 */
export async function ask<T>(
  question: Question,
  { signal, timeoutMs }: Limits,
  read: (answer: Answer) => Promise<T>,
): Promise<T> {
  openMirror(question.dir).close();
  const deadline = timeoutMs === undefined ? [] : [AbortSignal.timeout(timeoutMs)];
  const end = AbortSignal.any([signal, ...deadline]);
  const child = startProcess();
  try {
    const exchange = exchangeWith(child, end);
    const answered = await exchange(question);
    if (!('opened' in answered)) throw new Failure('bug', 'the query was not opened');
    return await read({ ...answered.opened, batches: batchesOf(exchange) });
  } catch (thrown) {
    if (signal.aborted) throw new Failure('incomplete', 'stopped');
    if (end.aborted)
      throw new Failure(
        'incomplete',
        `the query took longer than ${ms(timeoutMs ?? 0)} and was ended: narrow it, or give it more time`,
      );
    throw thrown;
  } finally {
    child.kill('SIGKILL');
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

/** One question at a time. */
function exchangeWith(child: ChildProcess, end: AbortSignal): Exchange {
  let waiting: { resolve(answered: Answered): void; reject(reason: unknown): void } | undefined;
  let ended: unknown;
  const fail = (reason: unknown) => {
    ended ??= reason;
    waiting?.reject(ended);
  };
  child.on('message', (answered: Answered) => waiting?.resolve(answered));
  child.on('error', fail);
  child.on('exit', (code, signal) =>
    fail(new Failure('incomplete', `the process of the query ended (${signal ?? code})`)),
  );
  end.addEventListener('abort', () => fail(end.reason), { once: true });
  if (end.aborted) fail(end.reason);

  return async (asked) => {
    if (ended) throw ended;
    const answered = await new Promise<Answered>((resolve, reject) => {
      waiting = { resolve, reject };
      child.send(asked);
    });
    if ('failed' in answered) throw new Failure(answered.failed.kind, answered.failed.message);
    return answered;
  };
}

function startProcess(): ChildProcess {
  const extension = extname(import.meta.url);
  const file = fileURLToPath(new URL(`query/process${extension}`, import.meta.url));
  // Run from the sources, as tests do, the process needs the loader of TypeScript.
  const execArgv = extension === '.ts' ? ['--import', import.meta.resolve('tsx')] : [];
  return fork(file, { serialization: 'advanced', execArgv, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
}
