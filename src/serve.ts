/**
 * `market-mirror serve`, put together: the API's own contract served from the mirror, to those who have a key. It reads the
 * mirror and writes to `serve.db` alone. `serve/answers.ts` tells the story of a GET.
 */

import { randomUUID } from 'node:crypto';
import type { RequestListener } from 'node:http';
import { join } from 'node:path';
import type { Clock } from './base/clock.ts';
import { type Failure, toError } from './base/errors.ts';
import type { Log } from './base/log.ts';
import type { Schedule } from './base/schedule.ts';
import { version } from './base/version.ts';
import { mayHaveProxy } from './config.ts';
import { datasetsOf, type ListedJob } from './job/list.ts';
import type { ServedProcess } from './reading/query.ts';
import { openAdmission } from './serve/access/admission.ts';
import { apiRoutes } from './serve/answers/api-v1.ts';
import { createAccessLog, openMetrics, operatorRoutes } from './serve/answers/metrics.ts';
import { watchMirror } from './serve/answers/mirror.ts';
import { isQueryPath, toErrorBody } from './serve/answers/mirror-v1/errors.ts';
import { openQuery } from './serve/answers/mirror-v1.ts';
import type { describeService } from './serve/answers/openapi.ts';
import { openPool, type PoolBounds } from './serve/answers/pool.ts';
import { callAnswerer } from './serve/answers.ts';
import { type Call, createHandler, type Route } from './serve/http/handler.ts';
import { clientAddresses, hostNames, originOf } from './serve/http/request.ts';
import { errorResponse, type StreamedResponse } from './serve/http/response.ts';
import type { PageAccess } from './serve/page/wire.ts';
import { openPage } from './serve/page.ts';

export type ServiceParts = {
  dir: string;
  jobs: readonly ListedJob[];
  settings: ServiceSettings;
  clock: Clock;
  log: Log;
  /** Called where the database of keys was replaced: the service has to end, and begin anew. */
  onLost?: (why: Failure) => void;
  requestId?: () => string;
  /** Of the page's files; that of the build unless given. */
  pageFolder?: string;
  /** How long a query may take; a minute on the page and five seconds in `/mirror/v1` unless given. */
  questionMs?: number;
  /** Bounds of the query processes, and what starts one, for tests. */
  pool?: Partial<PoolBounds>;
  startProcess?: (task: 'served' | 'quick') => ServedProcess;
  /** For tests: a call that was let in waits for it. */
  beforeAnswer?: () => Promise<void>;
};

type ServiceSettings = {
  /** The address it listens on. */
  host: string;
  /** Further names by which it may be called. */
  hosts: readonly string[];
  /** Addresses and networks of proxies whose X-Forwarded-For is believed. */
  trusted: readonly string[];
  /** The greatest age that is shown, in milliseconds, by job. */
  maxAgeMs: Readonly<Record<string, number>>;
  /** Whether `/mirror/v1` is answered. */
  query: boolean;
  /** Who may see the page. */
  page: PageAccess;
  /** The folder of the files of reports; `reports` in that of the mirror unless given. */
  reportsTo?: string | undefined;
  /** When each job is run and how calls are spent: what the daemon goes by. */
  schedules: Readonly<Record<string, Schedule>>;
};

export type Service = {
  handle: RequestListener;
  /** The body of an error that was found before `handle`, as clients of the path expect it. */
  errorBody(path: string, status: number, error: { error: string; message: string }): unknown;
  /** Leaves a word for those who look up who serves from the folder. */
  note(word: string): void;
  /** The path of a link to the page, which must not come into a log; null where the page needs none, or there is none. */
  linkToPage(): string | null;
  close(): Promise<void>;
};

/** @throws Failure `incomplete` where another process serves from the folder, and as `openServeDatabase` does. */
export function openService({ dir, jobs, settings, clock, log, onLost, ...rest }: ServiceParts): Service {
  const { maxAgeMs } = settings;
  const datasets = datasetsOf(jobs, settings.schedules);
  const onError = (thrown: unknown, requestId?: string) =>
    log.error({ ...(requestId && { requestId }), err: toError(thrown).stack }, 'a call failed');

  const admission = openAdmission(dir, clock, (outage) => logOutage(log, 'serve.db', outage), onLost);
  const mirror = watchMirror(dir, jobs, clock, (outage) => logOutage(log, 'mirror', outage));
  const pool = openPool(clock, rest.pool, rest.startProcess);
  const answerCall = callAnswerer(admission, rest.beforeAnswer);
  const query = settings.query
    ? openQuery({
        dir,
        jobs,
        answerCall,
        mirror,
        pool,
        maxAgeMs,
        clock,
        questionMs: rest.questionMs,
      })
    : undefined;
  const page = openPage({
    dir,
    jobs,
    pool,
    datasets,
    access: settings.page,
    reportsTo: settings.reportsTo ?? join(dir, 'reports'),
    admission,
    version: version(),
    clock,
    mirror,
    mirrorVersion: () => mirror.read(({ version }) => ({ now: version() }))?.now,
    onError,
    folder: rest.pageFolder,
    timeoutMs: rest.questionMs,
  });
  const { questionMs } = rest;
  let description: ReturnType<typeof describeService> | undefined;
  // It takes zod, which nothing else here does.
  const describe = async (call: Call) => {
    const { describeService } = await import('./serve/answers/openapi.ts');
    description ??= describeService(jobs, query?.routes ?? []);
    return description(call);
  };
  const routes: Route[] = [
    ...apiRoutes({ dir, jobs, admission, answerCall, mirror, pool, maxAgeMs, clock, questionMs }),
    ...operatorRoutes(admission, () => metrics),
    { name: 'openapi', path: '/openapi.json', respond: describe },
    ...(query?.routes ?? []),
    ...page.routes,
  ];
  const metrics = openMetrics({
    dir,
    mirror,
    areKeysUp: admission.isUp,
    datasets,
    maxAgeMs,
    routes: [...new Set(routes.map(({ name }) => name))],
    version: version(),
    clock,
  });
  const logCall = createAccessLog(log);
  const addressOf = clientAddresses(settings.trusted);

  const handle = createHandler({
    routes,
    isOurHost: hostNames(settings.host, settings.hosts),
    originOf: (request) => originOf(request, addressOf, mayHaveProxy(settings)),
    requestId: rest.requestId ?? randomUUID,
    clock,
    notFound: (call) =>
      query && isQueryPath(call.incoming.url ?? '') ? errorResponse('not_found') : page.notFound(call),
    formatError: (path, response) => described(path, query?.formatError(path, response) ?? response),
    onBegin: metrics.beginCall,
    onEnd(call) {
      metrics.endCall(call);
      const { account, route, status } = call;
      if (account !== null) admission.addCall({ account, endpoint: route, status });
      // A page that is open asks every few seconds.
      if (route !== 'page-overview' || status !== 304) logCall(call);
    },
    onError,
  });
  return {
    handle,
    errorBody: (path, status, error) =>
      query && isQueryPath(path) ? toErrorBody(status, error.message) : error,
    note: admission.note,
    linkToPage: page.link,
    async close() {
      page.close();
      pool.close();
      mirror.close();
      admission.close();
    },
  };
}

/** Whoever finds an endpoint finds what describes them all. */
function described(path: string, response: StreamedResponse): StreamedResponse {
  if (!path.startsWith('/api/') && !path.startsWith('/mirror/')) return response;
  return { ...response, headers: { ...response.headers, Link: '</openapi.json>; rel="service-desc"' } };
}

function logOutage(log: Log, what: string, outage: Failure | null): void {
  if (outage) log.error({ what }, outage.message);
  else log.info({ what }, `${what} can be read`);
}
