/** What the page of `web/` gets, and who may see it: its document, what that loads, and a small private interface. */

import { randomUUID } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import type { Clock } from '../base/clock.ts';
import { Failure } from '../base/errors.ts';
import { type Dataset, type ListedJob, tablesOf } from '../job/list.ts';
import { readDaemon } from '../reading/status.ts';
import type { Admission } from './access/admission.ts';
import { linkPath, openSessions } from './access/sessions.ts';
import type { WatchedMirror } from './answers/mirror.ts';
import { QueryError } from './answers/mirror-v1/errors.ts';
import type { Pool } from './answers/pool.ts';
import type { Call, Route } from './http/handler.ts';
import { digestEtag, errorResponse, type HttpResponse, matchesEtag } from './http/response.ts';
import { sqlOf } from './page/ask.ts';
import { openAssets } from './page/assets.ts';
import { notFoundPage, openPageAuth, type ViewerResponder } from './page/auth.ts';
import { openDownloads } from './page/downloads.ts';
import type { OverviewRequest } from './page/overview.ts';
import { openQueryTurns, type QueryParts, respondToQuery } from './page/queries.ts';
import { openReports } from './page/reports.ts';
import { BadRequest, failedResponse, type Translate } from './page/requests.ts';
import type { PageAccess } from './page/wire.ts';

type PageParts = {
  dir: string;
  jobs: readonly ListedJob[];
  datasets: readonly Dataset[];
  access: PageAccess;
  /** The folder of the files of reports. */
  reportsTo: string;
  admission: Pick<Admission, 'identify' | 'enter'>;
  pool: Pool;
  /** Of market-mirror. */
  version: string;
  clock: Clock;
  mirror: Pick<WatchedMirror, 'read'>;
  /** Another number when something was committed; undefined while the mirror cannot be read. */
  mirrorVersion(): number | undefined;
  /** Called with errors that must not happen. */
  onError(thrown: unknown): void;
  /** Of `index.html`; that of the build unless given. */
  folder?: string | undefined;
  /** How long a query may take; a minute unless given. */
  timeoutMs?: number | undefined;
};

type Page = {
  readonly routes: readonly Route[];
  /** The path of a new link for this machine, which must not come into a log; null where none is needed. */
  link(): string | null;
  /** The response for an unknown address: a page for a browser, unless the page is off. */
  notFound(call: Call): HttpResponse;
  close(): void;
};

/** Where the page's document is shown. */
const documentPaths = [
  '/',
  '/datasets/:job',
  '/datasets/:job/rows/:key',
  '/changes',
  '/walks',
  '/walks/:id',
  '/calls',
  '/problems',
  '/quota',
  '/sql',
  '/reports',
];

const QUERY_MS = 60_000;
const OVERVIEW_MS = 20_000;

/** Ages and plans go on where nothing is committed. */
const AGES_MS = 30_000;

/** Until the mirror may be read again. */
const UNREADABLE_SECONDS = 2;

export function openPage(parts: PageParts): Page {
  const { dir, jobs, datasets, version, access, admission, pool, clock, mirrorVersion, onError } = parts;
  if (access === 'off') return { routes: [], link: () => null, notFound, close() {} };
  const sessions = openSessions(dir);
  const auth = openPageAuth({ access, sessions, admission, clock });
  const assets = openAssets(parts.folder ?? builtFolder());
  const turns = openQueryTurns(pool, admission, clock);
  const overview = { dir, jobs, datasets, version, access };
  const translate: Translate = (ask, facets) => {
    const read = parts.mirror.read(({ connection }) => sqlOf(connection, jobs, ask, facets, clock.now()));
    if (read) return read;
    throw new Failure('incomplete', 'the mirror cannot be read at the moment');
  };
  const queries: QueryParts = { dir, tables: tablesOf(jobs), turns, translate, clock, onError };
  const downloads = openDownloads(queries, `market-mirror ${version}`);
  const reports = openReports(parts.mirror, parts.reportsTo, clock);
  // What changes with the process is another number in the next one.
  const start = randomUUID();

  async function document(call: Call): Promise<HttpResponse> {
    pool.warm();
    return await assets.document(call);
  }

  /** The ETag is known before anything is read: another where something was committed, the daemon came or went, or ages moved on. */
  async function read(call: Call, what: OverviewRequest['what']): Promise<HttpResponse> {
    const commit = mirrorVersion() ?? null;
    const state = [start, what, commit, readDaemon(dir), Math.floor(clock.now() / AGES_MS)];
    const ETag = digestEtag(JSON.stringify(state));
    const headers = { ETag, 'Cache-Control': 'no-store' };
    if (commit !== null && matchesEtag(call.headers['if-none-match'], ETag))
      return { status: 304, headers, body: null };
    const request = { what, parts: overview, now: clock.now(), commit };
    const body = await pool.quick<OverviewRequest, string>(request, OVERVIEW_MS);
    return { status: 200, headers: { ...headers, 'Content-Type': 'application/json' }, body };
  }

  const reading = ['GET', 'HEAD'];
  const open = (
    name: string,
    path: string,
    methods: readonly string[],
    respond: Route['respond'],
  ): Route => ({ name, path, methods, respond: toFailedLine(respond) });
  const guarded = (name: string, path: string, methods: readonly string[], respond: ViewerResponder) =>
    open(name, path, methods, auth.guard(respond));

  return {
    routes: [
      ...documentPaths.map((path) => open('page', path, reading, (call) => auth.open(call, document))),
      open('page-assets', '/assets/:name', reading, async (call) => {
        const asset = await assets.asset(call.params['name'] ?? '', call);
        return asset ?? errorResponse('not_found');
      }),
      open('page-login', '/page/login', ['POST'], auth.signIn),
      open('page-logout', '/page/logout', ['POST'], auth.signOut),
      guarded('page-overview', '/page/overview', reading, (call) => read(call, 'overview')),
      guarded('page-schema', '/page/schema', reading, (call) => read(call, 'schema')),
      guarded('page-reports', '/page/reports', reading, reports.list),
      guarded('page-reports', '/page/reports/:name/file', ['GET'], reports.file),
      guarded('page-query', '/page/query', ['POST'], (call, viewer) =>
        respondToQuery(call, viewer, queries, parts.timeoutMs ?? QUERY_MS),
      ),
      guarded('page-query', '/page/query.json', ['GET'], downloads.json),
      guarded('page-downloads', '/page/downloads/:id', ['GET'], downloads.file),
      guarded('page-downloads', '/page/downloads/:id/receipt', reading, downloads.receipt),
    ],
    notFound: (call) => (call.headers.accept?.includes('text/html') ? notFoundPage() : notFound()),
    link: () => (access === 'open' ? null : linkPath(sessions.issueLink(clock.now()))),
    close: sessions.close,
  };
}

const notFound = () => errorResponse('not_found');

/** The page hears of a problem by a line of `QueryLine`. */
function toFailedLine(respond: Route['respond']): Route['respond'] {
  return async (call) => {
    try {
      return await respond(call);
    } catch (thrown) {
      if (thrown instanceof QueryError) {
        const { message, hint } = thrown.body;
        return failedResponse(400, 'usage', hint === null ? message : `${message}. ${hint}`);
      }
      if (thrown instanceof BadRequest) return failedResponse(thrown.status, 'usage', thrown.message);
      if (!(thrown instanceof Failure) || thrown.kind === 'bug') throw thrown;
      const { kind, message } = thrown;
      return kind === 'usage'
        ? failedResponse(400, kind, message)
        : failedResponse(503, kind, message, UNREADABLE_SECONDS);
    }
  };
}

function builtFolder(): string {
  const isSource = import.meta.url.endsWith('.ts');
  return fileURLToPath(new URL(isSource ? '../../dist/web/' : '../../web/', import.meta.url));
}
