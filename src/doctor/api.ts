/** The API as this key may use it: requests every endpoint once, by the usual client and governor. */

import { type Call, lossOf, TOO_LARGE } from '../api/response.ts';
import { type App, openApp, type Surroundings } from '../app.ts';
import { CLOCK_ADVICE } from '../base/clock.ts';
import { type Failure, Snooze } from '../base/errors.ts';
import { settingOf } from '../config.ts';
import { otherLimit } from '../governor/machine.ts';
import type { Job } from '../job.ts';
import { type Check, ok, problem, problemOf, skipped, warning } from './check.ts';

/** One check a job, and one of the clock. After a refused key or an unreachable API, nothing more is requested. */
export async function* checkApi(surroundings: Surroundings, signal: AbortSignal): AsyncGenerator<Check> {
  let app: App;
  try {
    app = await openApp({ ...surroundings, retryRefused: true });
  } catch (thrown) {
    yield problemOf('api', thrown);
    return;
  }
  try {
    let ahead: number | null = null;
    let stopped: string | undefined;
    let isExplained = false;
    let isAsked = false;
    let limit: number | null = null;
    for (const job of inOrder(app.jobs)) {
      if (app.config.schedules[job.name] === 'off') yield skipped(job.name, 'is switched off: not asked');
      else if (stopped) yield skipped(job.name, `not asked, since ${stopped}`);
      else {
        const result = await ask(app, job, signal);
        ahead = result.aheadMs ?? ahead;
        stopped = result.stop;
        isAsked ||= result.isAsked;
        limit ??= result.limit ?? null;
        // Why one endpoint has to wait is said once.
        yield result.isWait && isExplained ? skipped(job.name, result.check.message) : result.check;
        isExplained ||= result.check.level !== 'ok';
      }
    }
    yield checkClock(ahead);
    if (isAsked) yield* checkLimits(app, limit);
    if (isAsked) yield* checkProxy(app);
  } finally {
    await app.close();
  }
}

/** First the endpoints that any active key may call: they tell a wrong key from a missing scope. */
function inOrder(jobs: readonly Job[]): readonly Job[] {
  return [...jobs].sort((a, b) => Number(a.scope !== null) - Number(b.scope !== null));
}

const WAIT = 'wait: the daemon goes on by itself, and sync waits for it';
const LET_US_THROUGH = 'if that stays so, ask who runs it to let this address through';

type EndpointResult = {
  check: Check;
  isAsked: boolean;
  aheadMs: number | null;
  /** X-RateLimit-Limit, where it came. */
  limit?: number | null;
  stop?: string | undefined;
  isWait?: boolean;
};

async function ask(app: App, job: Job, signal: AbortSignal): Promise<EndpointResult> {
  try {
    const { call, failure, aheadMs } = await app.askOnce(job, signal);
    const check = failure ? judge(job, failure, call) : fine(job, call);
    return { check, isAsked: true, aheadMs, limit: call.rateLimit, stop: whyStop(call) };
  } catch (thrown) {
    const unasked = { isAsked: false, aheadMs: null };
    if (!(thrown instanceof Snooze)) return { check: problemOf(job.name, thrown), ...unasked };
    return { check: warning(job.name, `not asked: ${thrown.message}`, WAIT), ...unasked, isWait: true };
  }
}

function fine(job: Job, { rateRemaining }: Call): Check {
  const left = rateRemaining === null ? '' : `; ${rateRemaining} calls are left of the quota`;
  return ok(job.name, `the key may read it (${scopeOf(job)})${left}`);
}

function judge(job: Job, { kind, message }: Failure, { status, requestId }: Call): Check {
  const { name } = job;
  const named = requestId === null ? '' : ` (X-Request-ID ${requestId})`;
  const said = `${message.replace(`${name}: `, '')}${named}`;
  // Waiting is not failing.
  if (kind === 'incomplete') return warning(name, said, status === 403 ? LET_US_THROUGH : WAIT);
  const advice =
    status === 403
      ? `give the key the scope ${scopeOf(job)}, allow this address, or set ${settingOf(name)}=off`
      : kind === 'contract'
        ? 'check that MARKET_API_URL is the base address of the API; if it is, ask the provider'
        : null;
  return problem(name, kind, said, advice);
}

function whyStop({ status, errorCode }: Call): string | undefined {
  if (status === 401) return 'the key is refused';
  return status === null && errorCode !== TOO_LARGE ? lossOf(errorCode ?? '').what : undefined;
}

const scopeOf = ({ scope }: Job) => scope ?? 'any active key';

const SKEW = { warning: 5_000, problem: 5 * 60_000 };

/** @param aheadMs how far our clock is ahead of the API's at least; null where no response told the time. */
function checkClock(aheadMs: number | null): Check {
  const name = 'clock';
  if (aheadMs === null) return skipped(name, 'no answer said what time it is');
  const away = Math.abs(aheadMs);
  if (away < SKEW.warning) return ok(name, "agrees with the API's");
  const message = `is ${Math.round(away / 1_000)} s ${aheadMs > 0 ? 'ahead of' : 'behind'} the API's`;
  return away < SKEW.problem
    ? warning(name, message, CLOCK_ADVICE)
    : problem(name, 'config', message, CLOCK_ADVICE);
}

/** The limits that are set against what the header says of the quota. */
function* checkLimits({ config: { limits } }: App, limit: number | null): Generator<Check> {
  const name = 'limits';
  const set = {
    MARKET_API_QUOTA: limits.quota,
    MARKET_API_RATE: limits.rate,
    MARKET_API_CONCURRENCY: limits.concurrency,
  };
  const unset = Object.entries(set).flatMap(([setting, value]) => (value === null ? [setting] : []));
  const learnt =
    unset.length === 0 ? 'all three are set' : `learnt, since it is not set: ${unset.join(', ')}`;
  const quota = limits.quota?.calls ?? null;
  if (quota === null || limit === null) yield ok(name, learnt);
  else if (quota === limit) yield ok(name, `MARKET_API_QUOTA agrees with the API's header; ${learnt}`);
  else
    yield warning(
      name,
      otherLimit(quota, limit),
      'correct MARKET_API_QUOTA, unless these are two quotas of the account',
    );
}

/** Whether calls went through the proxy: NO_PROXY may name the API. */
function* checkProxy({ config: { proxy }, usesProxy }: App): Generator<Check> {
  if (!proxy) return;
  const { host } = proxy;
  yield ok(
    'proxy',
    usesProxy()
      ? `the API is reached through the proxy ${host}`
      : `the API is reached without the proxy ${host}, since NO_PROXY names it`,
  );
}
