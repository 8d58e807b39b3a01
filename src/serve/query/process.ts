/** What runs in a process of the pool, one after the other: questions in SQL, those of `/mirror/v1`, filters of `/api/v1`, and what the page shows. */

import type { ListedJob } from '../../job-list.ts';
import { openPages, type Pages } from '../../reading/pages.ts';
import { answerQuestion } from '../../reading/query/process.ts';
import type { QueryPiece, QueryRequest } from '../../reading/query.ts';
import { type Connection, openMirror, storeFailure } from '../../store/read.ts';
import { watchFiles } from '../../store/sqlite-files.ts';
import type { Caller } from '../../worker.ts';
import { type FilteredPage, readFilteredPage } from '../service/list-page.ts';
import { type OverviewRequest, readForPage } from '../ui/overview.ts';
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

/** A filtered page of a list. @property dir the folder of the mirror. */
export type FilterQuestion = { readonly dir: string; readonly page: FilteredPage };

export async function answerServed(
  request: QueryRequest | DatasetQuestion | FilterQuestion | OverviewRequest,
  caller: Caller<QueryPiece>,
): Promise<unknown> {
  if ('sql' in request) return await answerQuestion(request, caller);
  if ('what' in request) return readForPage(request);
  try {
    const { connection, pages } = mirrorIn(request.dir);
    if ('page' in request) return readFilteredPage(connection, pages(request.page.job), request.page);
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
let open:
  | { dir: string; connection: Connection; pages(job: ListedJob): Pages; isLost(): unknown }
  | undefined;

function mirrorIn(dir: string) {
  if (open && (open.dir !== dir || open.isLost())) forget();
  if (!open) {
    const connection = openMirror(dir);
    registerMatching(connection);
    const byJob = new Map<string, Pages>();
    const pages = (job: ListedJob) => {
      const known = byJob.get(job.name) ?? openPages(connection, [job]);
      byJob.set(job.name, known);
      return known;
    };
    open = { dir, connection, pages, isLost: watchFiles(connection.name) };
  }
  return open;
}

function forget(): void {
  open?.connection.close();
  open = undefined;
}
