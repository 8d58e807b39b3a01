/** Queries of the mirror in SQL: one reading statement, in flat memory. A process computes the answer, so that it can be ended at any moment. */

import ms from 'ms';
import { LONGEST_TIMER_MS } from '../base/clock.ts';
import { Failure } from '../base/errors.ts';
import { type ProcessLimits, startProcess, type TaskName, type Worker } from '../base/worker.ts';
import type { Cell } from '../output/answer.ts';
import type { Exported, Order } from './export.ts';
import { type Answer, type Judged, judge, type MaxAges, type Opened } from './query/sources.ts';
import type { Params } from './query/statement.ts';

export type { Answer, Opened, Source } from './query/sources.ts';
export type { Params } from './query/statement.ts';

/** A query of a mirror. */
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
  infersTypes?: boolean;
  /** Look up which columns hold lists, objects and booleans: `Column.inJson`. */
  json?: boolean;
  /** A whole dataset was asked for by its name: the columns that the statement names are our choice. */
  isWhole?: boolean;
};

export type Bounds = MaxAges & {
  signal: AbortSignal;
  /** Called once the answer is there: a walk may have begun meanwhile. */
  now(): number;
  /** How long the query may take, reading its rows included. */
  timeoutMs?: number | undefined;
  /** How long it may go on without reading a row. */
  silentMs?: number | undefined;
};

/** What the process makes of the rows. */
type QueryForm =
  /** Batches of them. */
  | { readonly as: 'rows' }
  /** The first row is looked for, and nothing sent. */
  | { readonly as: 'check' }
  /** Lines of JSON, `{"rows":[[…],…]}`, of at most `limit` rows. */
  | { readonly as: 'lines'; readonly limit: number }
  /** The file that `export` writes. */
  | { readonly as: 'file'; readonly order: Order };

export type QueryRequest = Question & { readonly form: QueryForm };

/** What was opened comes first, then the rows: as they are, or as bytes. */
export type QueryPiece = Opened | Cell[][] | Uint8Array;
export type QueryResult = LinesEnd | FileEnd | null;

export type LinesEnd = {
  rows: number;
  /** Whether there are more rows. */
  isCut: boolean;
  /** Remarks on the rows for their reader, one line each. */
  notes: string[];
};

/** `cutCells`: how many were cut to `MAX_CELL_BYTES`. */
export type FileEnd = Exported & { cutCells: number };

/**
 * Runs a query, hands the answer to `read` and returns what that makes of it.
 * @throws Failure `usage` for SQL that is wrong or would write, and for a past that was dropped; `incomplete` where there
 * is no mirror yet, its data is too old or a bound ended the query; `config` for a mirror newer than this code.
 */
export type RunQuery = <T>(
  question: Question,
  bounds: Bounds,
  read: (answer: Answer) => Promise<T>,
) => Promise<T>;

/** Starts a process for queries at once: a start takes longer than most answers, and `use` prepares the query meanwhile. */
export async function withQueryProcess<T>(use: (query: RunQuery) => Promise<T>): Promise<T> {
  let process: QueryProcess | undefined = startQueryProcess();
  try {
    return await use(async (...query) => {
      process ??= startQueryProcess();
      try {
        return await process.rows(...query);
      } finally {
        // Whoever left an answer in the middle leaves what is on its way to the next question.
        if (!process.isFree()) {
          process.end();
          process = undefined;
        }
      }
    });
  } finally {
    process?.end();
  }
}

/** Resolves when more may be written; rejects once the reader has gone. */
type Write = (piece: Uint8Array) => Promise<void>;

/** Queries through `serve`: the process makes the bytes of the answer itself. All of them throw as `RunQuery` does. */
export type ServedQueries = {
  check(question: Question, bounds: Bounds): Promise<void>;
  /** @param begin called with the columns and sources, before the rows. */
  lines(
    question: Question,
    limit: number,
    bounds: Bounds,
    begin: (opened: Judged) => Promise<void>,
    write: Write,
  ): Promise<LinesEnd>;
  file(question: Question, order: Order, bounds: Bounds, write: Write): Promise<FileEnd>;
  /** Another request, which the service's own task in the process answers at once. */
  send<Request, Result>(
    request: Request,
    bounds: Pick<Bounds, 'timeoutMs'> & Partial<Pick<Bounds, 'signal'>>,
  ): Promise<Result>;
};

/** Answers one question after the other. A question that is ended early ends the process. */
export type QueryProcess = ServedQueries & { rows: RunQuery } & Pick<QueryWorker, 'isFree' | 'end'>;
type QueryWorker = Worker<QueryRequest, QueryResult, QueryPiece>;

export type ServedProcess = Omit<QueryProcess, 'rows'>;

/** Through `serve` a cell of more bytes is cut, and says so. */
export const MAX_CELL_BYTES = 1_000_000;

/** Rows of the console end where more bytes would follow. */
export const MAX_ANSWER_BYTES = 32_000_000;

/** With what a file of code brings along, a process never has more than 512 MB. */
const MAX_DATA_BYTES = 448 * 1_048_576;

/** Of each temporary file: what SQLite has to sort beyond its memory. */
const MAX_FILE_BYTES = 1_073_741_824;

/** How long a question through `serve` may go on without reading a row. */
const MAX_SILENT_MS = 60_000;

const elsewhere = 'on the machine of the mirror, market-mirror query and export have no such bound';

/** What the process says where it can still say it. */
export const outOfMemory = `the query needs more than 512 MB of memory and was ended: ask for less at a time; ${elsewhere}`;
export const outOfFile = `the query needs more than 1 GB of temporary disk space and was ended: ask for less at a time; ${elsewhere}`;

/** A process for questions through `serve`, or for what is quick, which may take only so much memory, disk and time. */
export function startServedProcess(task: 'served' | 'quick'): ServedProcess {
  return startQueryProcess({
    task,
    limits: { dataBytes: MAX_DATA_BYTES, fileBytes: MAX_FILE_BYTES, outOfMemory },
    silentMs: MAX_SILENT_MS,
  });
}

export function startQueryProcess(
  bounded: { task?: TaskName; limits?: ProcessLimits; silentMs?: number } = {},
): QueryProcess {
  const { task = 'query', limits } = bounded;
  const worker: QueryWorker = startProcess(task, 'the process of the query', limits);

  /** Ends the process where `work` takes too long, or its caller has left: at once, also where it waits for a reader. */
  async function within<T>(
    { signal, timeoutMs }: Pick<Bounds, 'timeoutMs'> & Partial<Pick<Bounds, 'signal'>>,
    work: () => Promise<T>,
  ): Promise<T> {
    let fail = (_: Failure) => {};
    const ended = new Promise<never>((_, reject) => {
      fail = reject;
    });
    const end = (why: Failure) => {
      // Before the worker: a stopped `work` throws something that says less.
      fail(why);
      worker.end(why);
    };
    const leave = () => end(stopped());
    const limitMs = Math.min(Math.ceil(timeoutMs ?? 0), LONGEST_TIMER_MS);
    const timer = timeoutMs === undefined ? undefined : setTimeout(() => end(tookLonger(limitMs)), limitMs);
    signal?.addEventListener('abort', leave, { once: true });
    if (signal?.aborted) leave();
    try {
      return await Promise.race([ended, work()]);
    } finally {
      // Neither must end the answer to the next question.
      clearTimeout(timer);
      signal?.removeEventListener('abort', leave);
    }
  }

  async function ask<T>(
    question: Question,
    form: QueryForm,
    { signal, now, timeoutMs, silentMs = bounded.silentMs, ...maxAges }: Bounds,
    read: (opened: Judged, pieces: AsyncGenerator<QueryPiece, QueryResult>) => Promise<T>,
  ): Promise<T> {
    return await within({ signal, timeoutMs }, async () => {
      const silence = silentMs === undefined ? undefined : { ms: silentMs, failure: tooSilent(silentMs) };
      const pieces = worker.call({ ...question, form }, silence);
      const opened = (await pieces.next()).value as Opened;
      return await read({ ...opened, ...judge(opened.sources, question, maxAges, now()) }, pieces);
    });
  }

  return {
    rows: (question, bounds, read) =>
      ask(question, { as: 'rows' }, bounds, (judged, pieces) =>
        read({ ...judged, batches: oneAhead(pieces as AsyncGenerator<Cell[][]>) }),
      ),
    async check(question, bounds) {
      await ask(question, { as: 'check' }, bounds, (_, pieces) => pieces.next());
    },
    lines: (question, limit, bounds, begin, write) =>
      ask(question, { as: 'lines', limit }, bounds, async (judged, pieces) => {
        await begin(judged);
        return (await writeAll(pieces, write)) as LinesEnd;
      }),
    file: (question, order, bounds, write) =>
      ask(question, { as: 'file', order }, bounds, async (_, pieces) => {
        return (await writeAll(pieces, write)) as FileEnd;
      }),
    send: (request, bounds) =>
      within(bounds, async () => (await worker.call(request as QueryRequest).next()).value as never),
    isFree: worker.isFree,
    end: worker.end,
  };
}

/** While a batch is read, the process makes the next one. */
async function* oneAhead(pieces: AsyncGenerator<Cell[][]>): AsyncGenerator<Cell[][], void> {
  for (let next = pieces.next(); ; ) {
    const { done, value } = await next;
    if (done) return;
    next = pieces.next();
    next.catch(() => undefined);
    yield value;
  }
}

async function writeAll(pieces: AsyncGenerator<QueryPiece, QueryResult>, write: Write): Promise<QueryResult> {
  for (;;) {
    const { done, value } = await pieces.next();
    if (done) return value;
    await write(value as Uint8Array);
  }
}

const stopped = () => new Failure('incomplete', 'stopped');

const tookLonger = (timeoutMs: number) =>
  new Failure(
    'incomplete',
    `the query took longer than ${ms(timeoutMs)} and was ended: narrow it, or give it more time`,
  );

const tooSilent = (silentMs: number) =>
  new Failure('incomplete', `the query read no row for ${ms(silentMs)} and was ended: narrow it`);
