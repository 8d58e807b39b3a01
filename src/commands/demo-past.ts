/** The model of the API for the demo, and the two days before it, which pass in seconds: walks move the clock. So there is history to show. */

import {
  createLimits,
  faults,
  type ModelApi,
  sampleKey,
  seededRandom,
  startModelApi,
  when,
} from '../../model-api/index.ts';
import type { App } from '../app.ts';
import { type Clock, HOUR_MS } from '../base/clock.ts';
import { Snooze } from '../base/errors.ts';
import { changing } from './model-api.ts';

/** Rows of each list. */
const ROWS = 430;
/** Small, and enough for every dataset every half minute: a mirror that waits for its quota shows nothing else. */
export const quota = { limit: 60, periodMs: 60_000 };
/** Of every call. */
export const LATENCY_MS = 40;

/** @param now the model's time, in epoch milliseconds. */
export async function startModel(now: () => number): Promise<ModelApi> {
  const ageing = when({}, faults.ageing());
  return await startModelApi({ rows: ROWS, quota, now, epoch: now(), faults: [ageing] });
}

export const PAST_MS = 52 * HOUR_MS;
/** Of every list. */
const changes = { count: 6, periodMs: HOUR_MS };
/** So much that nothing waits for it for long. */
const quotaOfThen = { limit: 60, periodMs: HOUR_MS };
/** The last walks begin so long before now. */
const LAST_MS = 4 * 60_000;

/** How many hours lie between two walks on the last day; before it, some times as many. */
const walkHours: Readonly<Record<string, number>> = {
  'ai-signals': 2,
  news: 4,
  'smart-wallets': 6,
  usage: 6,
};
const USUAL_WALK_HOURS = 3;
const SPARSE = 4;

/** The dataset that the model refuses in the last hours, and from then on. */
export const TROUBLED = 'meme-signals';
const TROUBLED_HOURS = 7;
/** A row that breaks the contract, so many hours ago. */
const REFUSED_HOURS = 5;

/** What goes wrong with the model at this hour. */
const troubles: Readonly<Record<number, (model: ModelApi) => void>> = {
  [REFUSED_HOURS]: ({ data: { aiSignals } }) => {
    const [first, ...others] = aiSignals.rows;
    aiSignals.rows = [{ ...first, confidence: 'high' }, ...others];
  },
  [TROUBLED_HOURS]: ({ faults: scripts }) => {
    scripts.push(when({ endpoint: 'memeSignals' }, faults.refuse(503)));
  },
};

/** Time that only sleeps and steps move on. */
export type SteppedClock = Clock & { advance(ms: number): void };

export function steppedClock(start: number): SteppedClock {
  let now = start;
  return {
    now: () => now,
    monotonic: () => now - start,
    advance(ms) {
      now += ms;
    },
    async sleep(ms, signal) {
      signal?.throwIfAborted();
      now += Math.max(0, ms);
    },
    // Nothing happens while time passes: what is due is done when its walk ends.
    after: () => () => undefined,
  };
}

type PastParts = { dir: string; jobs: readonly string[]; clock: SteppedClock; signal: AbortSignal };

/**
 * Leaves a mirror in the folder, the model in the trouble of then, and the clock `PAST_MS` later.
 * @param model whose time is that of the clock.
 */
export async function livePast(model: ModelApi, { dir, jobs, clock, signal }: PastParts): Promise<void> {
  const until = clock.now() + PAST_MS;
  const edit = changing(changes, 1, clock.now());
  model.beforeAnswer = (call, at) => {
    clock.advance(LATENCY_MS);
    return edit(call, at);
  };
  model.limits = createLimits({ quota: quotaOfThen });
  const environment = { MARKET_API_URL: model.url, MARKET_API_KEY: sampleKey.key, MIRROR_DIR: dir };
  // Loaded only here: the list of commands needs none of it.
  const { openApp } = await import('../app.ts');
  const app = await openApp({ environment, clock, random: seededRandom(1) });
  try {
    for (let hoursLeft = PAST_MS / HOUR_MS; hoursLeft > 0; hoursLeft -= 1) {
      clock.advance(Math.max(0, until - (hoursLeft - 1) * HOUR_MS - LAST_MS - clock.now()));
      troubles[hoursLeft]?.(model);
      for (const job of jobs) if (isDue(job, hoursLeft)) await walkOnce(app, job, clock, signal);
    }
    // The quota of then says nothing of the one of now.
    app.store.governor.transact(() => ({ state: null, result: null }));
  } finally {
    await app.close();
  }
  model.limits = createLimits({ quota });
  clock.advance(Math.max(0, until - clock.now()));
}

/** Waits for calls as the daemon does. What is refused is written down by the mirror, and waits for the next hour. */
async function walkOnce(app: App, job: string, clock: Clock, signal: AbortSignal): Promise<void> {
  app.store.keepNextDue(job, clock.now() + walkHoursOf(job) * HOUR_MS);
  try {
    await app.mirror(app.job(job), signal);
  } catch (thrown) {
    signal.throwIfAborted();
    if (!(thrown instanceof Snooze) || thrown.reason === 'unavailable') return;
    await clock.sleep(thrown.until - clock.now(), signal);
    await walkOnce(app, job, clock, signal);
  }
}

const walkHoursOf = (job: string) => walkHours[job] ?? USUAL_WALK_HOURS;

/** As settings have it. */
export const pastSchedule = (job: string): string => `every ${walkHoursOf(job)}h`;

function isDue(job: string, hoursLeft: number): boolean {
  return (hoursLeft - 1) % (walkHoursOf(job) * (hoursLeft > 24 ? SPARSE : 1)) === 0;
}
