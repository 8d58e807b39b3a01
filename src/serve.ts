/**
 * `market-mirror serve`, put together: the API's own contract answered from the mirror, to those who have a key. It reads the
 * mirror and writes to `serve.db` alone.
 */

import { randomUUID } from 'node:crypto';
import type { RequestListener } from 'node:http';
import type { Clock } from './clock.ts';
import { type Failure, toError } from './errors.ts';
import { datasetsOf, type ListedJob } from './job-list.ts';
import type { Log } from './log.ts';
import type { Spending } from './plan.ts';
import type { Schedule } from './schedule.ts';
import { clientAddresses, hostNames, originOf } from './serve/http/app/client.ts';
import { createApp, type Endpoint, type OpenEndpoint } from './serve/http/app.ts';
import { isRefused, openAdmission } from './serve/service/admission.ts';
import {
  type Answer,
  jsonAnswer,
  openAnswers,
  refusedAnswer,
  UNREADY_SECONDS,
} from './serve/service/answers.ts';
import { METRICS_SCOPE } from './serve/service/keys.ts';
import { createAccessLog, openMetrics, type Readiness } from './serve/service/metrics.ts';
import { describeService } from './serve/service/openapi.ts';
import { usageBody } from './serve/service/usage.ts';
import { openPage, type PageAccess } from './serve/ui.ts';
import { version } from './version.ts';

export type ServiceParts = {
  dir: string;
  jobs: readonly ListedJob[];
  settings: ServiceSettings;
  clock: Clock;
  log: Log;
  requestId?: () => string;
  /** Of the page's files; that of the build unless given. */
  pageFolder?: string;
  /** How long a question of the page may take; a minute unless given. */
  questionMs?: number;
  /** For tests: a call that was let in waits for it. */
  beforeAnswer?: () => Promise<void>;
};

export type ServiceSettings = {
  /** The address it listens on. */
  host: string;
  /** Further names by which it may be called. */
  hosts: readonly string[];
  /** Addresses and networks of proxies whose X-Forwarded-For is believed. */
  trusted: readonly string[];
  /** The greatest age that is answered, in milliseconds, by job. */
  maxAgeMs: Readonly<Record<string, number>>;
  /** Whether answers carry the IETF draft's RateLimit fields. */
  draftHeaders: boolean;
  /** Who may see the page. */
  page: PageAccess;
  /** When each job is run and how calls are spent: what the daemon goes by. */
  schedules: Readonly<Record<string, Schedule>>;
  spending: Spending;
};

export type Service = {
  handle: RequestListener;
  /** Leaves a word for those who look who serves from the folder. */
  note(word: string): void;
  /** The path of a link to the page, which must not come into a log; null where the page needs none, or there is none. */
  linkToPage(): string | null;
  /** Ends answers that would go on for as long as somebody listens. */
  drain(): void;
  close(): Promise<void>;
};

/** @throws Failure `incomplete` where another process serves from the folder, and as `openServeDatabase` does. */
export function openService({ dir, jobs, settings, clock, log, ...rest }: ServiceParts): Service {
  const admission = openAdmission(dir, clock, (trouble) => {
    tell(log, 'serve.db', trouble);
    metrics.keysTold(trouble === null);
  });
  const { maxAgeMs } = settings;
  const answers = openAnswers({
    dir,
    jobs,
    maxAgeMs,
    clock,
    tell: (trouble) => tell(log, 'mirror', trouble),
    pageTold: (source) => metrics.paged(source),
  });

  const lists = jobs
    .filter(({ history }) => history !== null)
    .map((job): Endpoint => ({ ...job, plan: (asked, { account }) => answers.plan(job, asked, account) }));
  const usages = jobs
    .filter(({ history }) => history === null)
    .map(({ name, path, scope }): Endpoint => {
      const plan: Endpoint['plan'] = (_, { account }) => ({
        costsQuota: true,
        read: () => {
          const usage = usageBody(admission, account, clock.now());
          return isRefused(usage) ? refusedAnswer(usage) : jsonAnswer(200, usage);
        },
      });
      return { name, path, scope, plan };
    });
  const open: OpenEndpoint[] = [
    { name: 'healthz', path: '/healthz', scope: null, answer: () => jsonAnswer(200, { status: 'ok' }) },
    { name: 'openapi', path: '/openapi.json', scope: null, answer: describeService(jobs) },
    { name: 'readyz', path: '/readyz', scope: null, answer: () => readyAnswer(metrics.readiness()) },
    { name: 'metrics', path: '/metrics', scope: METRICS_SCOPE, answer: metricsAnswer },
  ];
  const datasets = datasetsOf(jobs, settings.schedules);
  const { spending } = settings;
  const failed = (thrown: unknown, requestId?: string) =>
    log.error({ ...(requestId && { requestId }), err: toError(thrown).stack }, 'a call failed');
  const page = openPage({
    dir,
    jobs,
    datasets,
    spending,
    access: settings.page,
    admission,
    version: version(),
    clock,
    mirrorVersion: () => answers.mirror.read(({ version }) => ({ now: version() }))?.now,
    failed,
    folder: rest.pageFolder,
    timeoutMs: rest.questionMs,
  });
  const metrics = openMetrics({
    dir,
    mirror: answers.mirror,
    keysUp: admission.isUp,
    datasets,
    spending,
    maxAgeMs,
    routes: [...new Set([...lists, ...usages, ...open, ...page.endpoints].map(({ name }) => name))],
    version: version(),
    clock,
  });
  const writeDown = createAccessLog(log);

  async function metricsAnswer(): Promise<Answer> {
    const { contentType, text } = await metrics.expose();
    return { status: 200, headers: { 'Content-Type': contentType, 'Cache-Control': 'no-store' }, body: text };
  }

  const addressOf = clientAddresses(settings.trusted);
  const handle = createApp({
    admission,
    endpoints: [...lists, ...usages],
    open,
    page: page.endpoints,
    isOurHost: hostNames(settings.host, settings.hosts),
    originOf: (request) => originOf(request, addressOf),
    draftHeaders: settings.draftHeaders,
    requestId: rest.requestId ?? randomUUID,
    clock,
    began: metrics.began,
    told(call) {
      metrics.ended(call);
      const { account, route: endpoint, status } = call;
      if (account !== null) admission.answered({ account, endpoint, status });
      writeDown(call);
    },
    failed,
    beforeAnswer: rest.beforeAnswer,
  });
  return {
    handle,
    note: admission.note,
    linkToPage: page.link,
    drain: page.drain,
    async close() {
      await page.close();
      await answers.close();
      admission.close();
    },
  };
}

function readyAnswer(readiness: Readiness): Answer {
  if (readiness.ready) return jsonAnswer(200, readiness);
  return jsonAnswer(503, readiness, { 'Retry-After': String(UNREADY_SECONDS) });
}

function tell(log: Log, what: string, trouble: Failure | null): void {
  if (trouble) log.error({ what }, trouble.message);
  else log.info({ what }, `${what} can be read`);
}
