/** What the page of `web/` gets, and who may see it: its document, what that loads, and a small private interface. */

import { fileURLToPath } from 'node:url';
import type { Clock } from '../clock.ts';
import { Failure } from '../errors.ts';
import { type Dataset, type ListedJob, tablesOf } from '../job-list.ts';
import { readDaemon } from '../reading/status.ts';
import type { Call, Route } from './http/handler.ts';
import { errorResponse, type HttpResponse, type StreamedResponse } from './http/response.ts';
import { abortSignalOf, EVENT_STREAM } from './http/stream.ts';
import type { Admission } from './service/admission.ts';
import { openAssets } from './ui/assets.ts';
import { notFoundPage, openPageAuth, type ViewerResponder } from './ui/auth.ts';
import { openDownloads } from './ui/downloads.ts';
import { openLiveEvents } from './ui/live.ts';
import { openOverview } from './ui/overview.ts';
import { openQueryTurns, type QueryParts, respondToQuery, respondWithJson } from './ui/queries.ts';
import type { QueryProcesses } from './ui/query-processes.ts';
import { BadRequest, busyResponse, failedResponse } from './ui/requests.ts';
import { linkPath, openSessions, type Viewer } from './ui/sessions.ts';
import type { PageAccess } from './ui/wire.ts';

type UiParts = {
  dir: string;
  jobs: readonly ListedJob[];
  datasets: readonly Dataset[];
  access: PageAccess;
  admission: Pick<Admission, 'identify' | 'enter'>;
  /** Shared with `/mirror/v1`. */
  processes: QueryProcesses;
  /** Of market-mirror. */
  version: string;
  clock: Clock;
  /** Another number when something was committed; undefined while the mirror cannot be read. */
  mirrorVersion(): number | undefined;
  /** Called with errors that must not happen. */
  onError(thrown: unknown): void;
  /** Of `index.html`; that of the build unless given. */
  folder?: string | undefined;
  /** How long a query may take; a minute unless given. */
  timeoutMs?: number | undefined;
};

type Ui = {
  readonly routes: readonly Route[];
  /** The path of a new link for this machine, which must not come into a log; null where none is needed. */
  link(): string | null;
  /** The response for an unknown address: a page for a browser, unless the page is off. */
  notFound(call: Call): HttpResponse;
  /** Ends the streams of events, which would go on until their listeners leave. */
  drain(): void;
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
];

const QUERY_MS = 60_000;

/** Until the mirror may be read again. */
const UNREADABLE_SECONDS = 2;

export function openUi(parts: UiParts): Ui {
  const { dir, jobs, datasets, version, access, admission, processes, clock, mirrorVersion, onError } = parts;
  if (access === 'off') return { routes: [], link: () => null, notFound, drain() {}, close() {} };
  const sessions = openSessions(dir);
  const auth = openPageAuth({ access, sessions, admission, clock });
  const assets = openAssets(parts.folder ?? builtFolder());
  const turns = openQueryTurns(processes, admission, clock);
  const overview = openOverview({ dir, jobs, datasets, version, access }, clock, mirrorVersion);
  const events = openLiveEvents(() => {
    const commit = mirrorVersion() ?? null;
    return { commit, state: JSON.stringify([commit, unlessFailed(() => readDaemon(dir))]) };
  }, clock.now);
  const queries: QueryParts = { dir, tables: tablesOf(jobs), turns, clock, onError };
  const downloads = openDownloads(queries, `market-mirror ${version}`);

  async function document(call: Call): Promise<HttpResponse> {
    processes.warm();
    return await assets.document(call);
  }

  async function read(what: 'overview' | 'schema'): Promise<HttpResponse> {
    const headers = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' };
    return { status: 200, headers, body: await overview.read(what) };
  }

  function listen(call: Call, { owner }: Viewer): StreamedResponse {
    // A viewer stays while sessions cannot be read.
    const mayListen = () => {
      const found = unlessFailed(() => ({ viewer: auth.viewerOf(call) }));
      return found === undefined || found.viewer !== undefined;
    };
    const body = events.listen(owner, abortSignalOf(call), mayListen);
    if (!body) return busyResponse('listeners');
    return { status: 200, headers: EVENT_STREAM.headers, body };
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
      guarded('page-overview', '/page/overview', reading, () => read('overview')),
      guarded('page-schema', '/page/schema', reading, () => read('schema')),
      guarded('page-events', '/page/events', ['GET'], listen),
      guarded('page-query', '/page/query', ['POST'], (call, viewer) =>
        respondToQuery(call, viewer, queries, parts.timeoutMs ?? QUERY_MS),
      ),
      guarded('page-query', '/page/query.json', ['GET'], (call, viewer) =>
        respondWithJson(call, viewer, queries, parts.timeoutMs ?? QUERY_MS),
      ),
      guarded('page-downloads', '/page/downloads', ['POST'], downloads.order),
      guarded('page-downloads', '/page/downloads/:id', ['GET'], downloads.take),
      guarded('page-downloads', '/page/downloads/:id/receipt', reading, downloads.receipt),
    ],
    notFound: (call) => (call.headers.accept?.includes('text/html') ? notFoundPage() : notFound()),
    link: () => (access === 'open' ? null : linkPath(sessions.issueLink(clock.now()))),
    drain: events.end,
    close() {
      events.end();
      overview.close();
      sessions.close();
    },
  };
}

const notFound = () => errorResponse('not_found');

/** The page hears of a problem by a line of `QueryLine`. */
function toFailedLine(respond: Route['respond']): Route['respond'] {
  return async (call) => {
    try {
      return await respond(call);
    } catch (thrown) {
      if (thrown instanceof BadRequest) return failedResponse(thrown.status, 'usage', thrown.message);
      if (!(thrown instanceof Failure) || thrown.kind === 'bug') throw thrown;
      const { kind, message } = thrown;
      return kind === 'usage'
        ? failedResponse(400, kind, message)
        : failedResponse(503, kind, message, UNREADABLE_SECONDS);
    }
  };
}

/** A failure between calls has no reader: the next call meets it again. */
function unlessFailed<Result>(read: () => Result): Result | undefined {
  try {
    return read();
  } catch (thrown) {
    if (thrown instanceof Failure) return undefined;
    throw thrown;
  }
}

function builtFolder(): string {
  const isSource = import.meta.url.endsWith('.ts');
  return fileURLToPath(new URL(isSource ? '../../dist/web/' : '../../web/', import.meta.url));
}
