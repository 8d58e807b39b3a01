/** What runs in a query process of the service: questions in SQL, and those of `/mirror/v1`, one after the other. */

import { answerQuestion } from '../../reading/query/process.ts';
import type { QueryPiece, QueryRequest } from '../../reading/query.ts';
import { type Connection, openMirror, storeFailure } from '../../store/read.ts';
import { watchFiles } from '../../store/sqlite-files.ts';
import type { Caller } from '../../worker.ts';
import { registerMatching } from './match.ts';
import { type RowsAnswer, type RowsQuestion, readRows } from './read.ts';

/** A question of `/mirror/v1`. */
export type DatasetQuestion = {
  /** The folder of the mirror. */
  readonly dir: string;
  readonly dataset: { readonly name: string; readonly rows: string };
  readonly rows: RowsQuestion;
};

export type DatasetAnswer = RowsAnswer;

export async function answerServed(
  request: QueryRequest | DatasetQuestion,
  caller: Caller<QueryPiece>,
): Promise<unknown> {
  if (!('dataset' in request)) return await answerQuestion(request, caller);
  try {
    return await readRows(connectionTo(request.dir), request.dataset, request.rows)();
  } catch (thrown) {
    forget();
    throw storeFailure(thrown, 'the query');
  }
}

/** Kept from one question to the next; between two of them it reads no moment, which would keep the log from beginning anew. */
let open: { dir: string; connection: Connection; isLost: () => unknown } | undefined;

function connectionTo(dir: string): Connection {
  if (open && (open.dir !== dir || open.isLost())) forget();
  if (!open) {
    const connection = openMirror(dir);
    registerMatching(connection);
    open = { dir, connection, isLost: watchFiles(connection.name) };
  }
  return open.connection;
}

function forget(): void {
  open?.connection.close();
  open = undefined;
}
