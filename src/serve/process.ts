/** What runs in a process of the pool, one after the other: pages of `/api/v1`, questions of `/mirror/v1` and in SQL, and what the page shows. */

import type { TaskChannel } from '../base/worker.ts';
import { openPages, type PagedJob, type Pages } from '../reading/pages.ts';
import { answerQuestion } from '../reading/query/process.ts';
import type { QueryPiece, QueryRequest } from '../reading/query.ts';
import { type Connection, mirrorFile, openMirror, storeFailure } from '../store/read.ts';
import { watchFiles } from '../store/sqlite-files.ts';
import { type PageQuestion, readListPage } from './answers/list-page.ts';
import { feedPage, readChanges } from './answers/mirror-v1/changes.ts';
import { QueryError } from './answers/mirror-v1/errors.ts';
import { registerMatching } from './answers/mirror-v1/match.ts';
import { readRows } from './answers/mirror-v1/read.ts';
import type { DatasetQuestion } from './answers/mirror-v1.ts';
import { packed } from './http/response.ts';
import { type OverviewRequest, readForPage } from './page/overview.ts';

export async function answerServed(
  request: QueryRequest | DatasetQuestion | PageQuestion | OverviewRequest,
  channel: TaskChannel<QueryPiece>,
): Promise<unknown> {
  if ('sql' in request) return await answerQuestion(request, channel);
  if ('what' in request) return readForPage(request);
  try {
    const { connection, pages } = mirrorIn(request.dir);
    if ('page' in request) {
      const page = readListPage(connection, pages(request.page.job), request.page);
      return page && (await packed(page, request.encoding));
    }
    if ('feed' in request)
      return await feedPage(readChanges(connection, request.feed), request.name, request.encoding);
    return await readRows(connection, request.dataset, request.rows);
  } catch (thrown) {
    if (thrown instanceof QueryError) return { refused: thrown.data() };
    forget();
    // What becomes of a page is for the log; what becomes of a question is told to its client.
    throw storeFailure(thrown, 'page' in request ? mirrorFile(request.dir) : 'the query');
  }
}

/** Kept from one question to the next, without a transaction between two of them: that would keep the write-ahead log from beginning anew. */
let open: { dir: string; connection: Connection; pages(job: PagedJob): Pages; isLost(): unknown } | undefined;

function mirrorIn(dir: string) {
  if (open && (open.dir !== dir || open.isLost())) forget();
  if (!open) {
    const connection = openMirror(dir);
    registerMatching(connection);
    const byJob = new Map<string, Pages>();
    const pages = (job: PagedJob) => {
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
