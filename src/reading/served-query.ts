/**
 * A question that comes through `serve`. Its query process makes the bytes of the answer itself, which the service passes on
 * without a look at them, and may take only so much memory, disk and time.
 */

import { Failure } from '../errors.ts';
import type { Exported, Order } from './export.ts';
import {
  type Bounds,
  type Judged,
  type ProcessLimits,
  type QueryProcess,
  type Question,
  startQueryProcess,
} from './query.ts';

/** A cell of more bytes is cut, and says so. */
export const MAX_CELL_BYTES = 1_000_000;

/** Rows of the console end where more bytes would follow. */
export const MAX_ANSWER_BYTES = 32_000_000;

/** With what a file of code brings along, a process never has more than 512 MB. */
const MAX_DATA_BYTES = 448 * 1_048_576;

/** Of each temporary file: what SQLite has to sort beyond its memory. */
const MAX_FILE_BYTES = 1_073_741_824;

/** How long a question may go on without reading a row. */
const SILENT_MS = 60_000;

const elsewhere = 'on the machine of the mirror, market-mirror query and export have no such bound';

/** What the process says where it can still say it. */
export const outOfMemory = `the query needs more than 512 MB of memory and was ended: ask for less at a time; ${elsewhere}`;
export const outOfFile = `the query needs more than 1 GB of temporary disk space and was ended: ask for less at a time; ${elsewhere}`;

const limits: ProcessLimits = { dataBytes: MAX_DATA_BYTES, fileBytes: MAX_FILE_BYTES, outOfMemory };

/** What is to become of the rows. */
export type ServedForm =
  /** The first row is looked for, and nothing sent. */
  | { readonly as: 'check' }
  /** Lines of JSON, `{"rows":[[…],…]}`, of at most `limit` rows. */
  | { readonly as: 'lines'; readonly limit: number }
  /** The file that `export` writes. */
  | { readonly as: 'file'; readonly order: Order };

export type ServedQuestion = Question & { readonly form: ServedForm };

export type ServedResponse = { piece: Uint8Array } | { end: LinesEnd | FileEnd | null };

export type LinesEnd = {
  rows: number;
  /** Whether there are more rows. */
  isCut: boolean;
  /** What whoever reads the answer should know of its rows, one line each. */
  notes: string[];
};

/** `cutCells`: how many were cut to `MAX_CELL_BYTES`. */
export type FileEnd = Exported & { cutCells: number };

/** Resolves when more may be written; rejects where nobody takes it any longer. */
type Write = (piece: Uint8Array) => Promise<void>;

/** All of them: @throws Failure as `Ask` does, and `incomplete` where the process came to its limits. */
export type ServedQueries = {
  check(question: Question, bounds: Bounds): Promise<void>;
  /** @param begin is told what the rows are before they come. */
  lines(
    question: Question,
    limit: number,
    bounds: Bounds,
    begin: (opened: Judged) => Promise<void>,
    write: Write,
  ): Promise<LinesEnd>;
  file(question: Question, order: Order, bounds: Bounds, write: Write): Promise<FileEnd>;
};

/** A query process for one question after another. */
export type ServedProcess = ServedQueries & Pick<QueryProcess<ServedResponse>, 'isFree' | 'end'>;

export function startServedProcess(): ServedProcess {
  const process = startQueryProcess<ServedResponse>(limits);

  async function ask<End>(
    question: Question,
    form: ServedForm,
    bounds: Bounds,
    write: Write,
    begin: (opened: Judged) => Promise<void> = async () => undefined,
  ): Promise<End> {
    const served: ServedQuestion = { ...question, form };
    return await process.ask(served, { silentMs: SILENT_MS, ...bounds }, async (opened, more) => {
      await begin(opened);
      for (;;) {
        const response = await more();
        if ('end' in response) return response.end as End;
        await write(response.piece);
      }
    });
  }

  const nothing: Write = async () => {
    throw new Failure('bug', 'a check sends no rows');
  };

  return {
    async check(question, bounds) {
      await ask<null>(question, { as: 'check' }, bounds, nothing);
    },
    lines: (question, limit, bounds, begin, write) =>
      ask(question, { as: 'lines', limit }, bounds, write, begin),
    file: (question, order, bounds, write) => ask(question, { as: 'file', order }, bounds, write),
    isFree: process.isFree,
    end: process.end,
  };
}
