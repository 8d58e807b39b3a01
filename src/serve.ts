/**
 * `market-mirror serve`, put together: the API's own contract answered from the mirror, to those who have a key. It reads the
 * mirror and writes to `serve.db` alone.
 */

import { randomUUID } from 'node:crypto';
import type { RequestListener } from 'node:http';
import type { Clock } from './clock.ts';
import { type Failure, toError } from './errors.ts';
import type { DescribedJob, ServedJob } from './job-list.ts';
import type { Log } from './log.ts';
import { isRefused, openAdmission } from './serve/admission.ts';
import { jsonAnswer, openAnswers, planned, refusedAnswer } from './serve/answers.ts';
import { clientAddresses } from './serve/app/client-address.ts';
import { hostNames } from './serve/app/host-names.ts';
import { createApp, type Endpoint, type OpenEndpoint } from './serve/app.ts';
import { describeService } from './serve/openapi.ts';

export type ServiceParts = {
  dir: string;
  jobs: readonly ServedJob[];
  /** The same as those who call are told of them. */
  described: readonly DescribedJob[];
  settings: ServiceSettings;
  clock: Clock;
  log: Log;
  requestId?: () => string;
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
};

export type Service = {
  handle: RequestListener;
  close(): Promise<void>;
};

/** @throws Failure `incomplete` where another process serves from the folder, and as `openServeDatabase` does. */
export function openService({ dir, jobs, described, settings, clock, log, ...rest }: ServiceParts): Service {
  const admission = openAdmission(dir, clock, (trouble) => tell(log, 'serve.db', trouble));
  const { maxAgeMs } = settings;
  const answers = openAnswers({
    dir,
    jobs,
    maxAgeMs,
    clock,
    tell: (trouble) => tell(log, 'mirror', trouble),
  });

  const lists = jobs
    .filter(({ history }) => history !== null)
    .map((job): Endpoint => ({ ...job, plan: (asked) => answers.plan(job, asked) }));
  const usages = jobs
    .filter(({ history }) => history === null)
    .map(({ name, path, scope }): Endpoint => {
      const plan: Endpoint['plan'] = (_, { account }) => {
        const usage = admission.usage(account);
        if (isRefused(usage)) return planned(refusedAnswer(usage));
        return { costsQuota: true, read: () => jsonAnswer(200, usage) };
      };
      return { name, path, scope, plan };
    });
  const open: OpenEndpoint[] = [
    { name: 'healthz', path: '/healthz', scope: null, answer: () => jsonAnswer(200, { status: 'ok' }) },
    { name: 'openapi', path: '/openapi.json', scope: null, answer: describeService(described) },
  ];

  const handle = createApp({
    admission,
    endpoints: [...lists, ...usages],
    open,
    isOurHost: hostNames(settings.host, settings.hosts),
    addressOf: clientAddresses(settings.trusted),
    draftHeaders: settings.draftHeaders,
    requestId: rest.requestId ?? randomUUID,
    clock,
    told: () => undefined,
    failed: (thrown, requestId) => log.error({ requestId, err: toError(thrown).stack }, 'a call failed'),
    beforeAnswer: rest.beforeAnswer,
  });
  return {
    handle,
    async close() {
      await answers.close();
      admission.close();
    },
  };
}

function tell(log: Log, what: string, trouble: Failure | null): void {
  if (trouble) log.error({ what }, trouble.message);
  else log.info({ what }, `${what} can be read`);
}
