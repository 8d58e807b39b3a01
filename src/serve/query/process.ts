/** What runs in a query process of the service: questions in SQL, and those of `/mirror/v1`, one after the other. */

import { answerQuestion } from '../../reading/query/process.ts';
import type { QueryPiece, QueryRequest } from '../../reading/query.ts';
import { type Connection, openMirror, storeFailure } from '../../store/read.ts';
import { watchFiles } from '../../store/sqlite-files.ts';
import type { Caller } from '../../worker.ts';
import { type FeedAnswer, type FeedQuestion, readChanges } from './changes.ts';
import { QueryError, type QueryErrorData } from './errors.ts';
import { registerMatching } from './match.ts';
import { type RowsAnswer, type RowsQuestion, readRows } from './read.ts';

/** A question of `/mirror/v1`. @property dir the folder of the mirror. */
export type DatasetQuestion = { readonly dir: string } & (
  | { readonly dataset: { readonly name: string; readonly rows: string }; readonly rows: RowsQuestion }
  | { readonly feed: FeedQuestion }
);

/** The answer, or why there is none. */
export type DatasetAnswer<Answer extends RowsAnswer | FeedAnswer> =
  | Answer
  | { readonly refused: QueryErrorData };

export async function answerServed(
  request: QueryRequest | DatasetQuestion,
  caller: Caller<QueryPiece>,
): Promise<unknown> {
  if ('sql' in request) return await answerQuestion(request, caller);
  try {
    const connection = connectionTo(request.dir);
    if ('feed' in request) return readChanges(connection, request.feed);
    const answer = await readRows(connection, request.dataset, request.rows);
    // As bytes, which the service sends as they are: it has many clients, and this process has one.
    return { ...answer, body: answer.body === undefined ? undefined : Buffer.from(answer.body) };
  } catch (thrown) {
    if (thrown instanceof QueryError) return { refused: thrown.data() };
    forget();
    throw storeFailure(thrown, 'the query');
  }
}

/** Kept from one question to the next, without a transaction between two of them: that would keep the write-ahead log from beginning anew. */
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
