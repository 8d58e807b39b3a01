/** Two days of a mirror of the model API, lived in seconds: sample data, edited as published lists are, and some trouble. */

import {
  type Dataset,
  type FaultScript,
  faults,
  liveEdit,
  type ModelApi,
  type Random,
  sampleKey,
  seededRandom,
  startModelApi,
  when,
} from '../../model-api/index.ts';
import { type App, openApp } from '../../src/app.ts';
import { type Clock, HOUR_MS, isoTime } from '../../src/clock.ts';

/** Of each list, as in the demo. */
const ROWS = 430;
const LASTS_MS = 50 * HOUR_MS;
const STEP_MS = HOUR_MS / 4;

/** How many steps lie between two walks of a dataset, and edits upstream in each step. */
const paces = {
  'ai-signals': { every: 1, edits: 6 },
  news: { every: 2, edits: 2 },
  'smart-wallets': { every: 3, edits: 1 },
  'meme-signals': { every: 2, edits: 4 },
  usage: { every: 4, edits: 0 },
} as const;

type Job = keyof typeof paces;

/** The settings that go with the paces. */
export const schedules = Object.fromEntries(
  Object.entries(paces).map(([job, { every }]) => [
    `MIRROR_SCHEDULE_${job.toUpperCase().replaceAll('-', '_')}`,
    `every ${every * 15}m`,
  ]),
);

/** @param left steps until the end, this one included. */
function troubleOf(job: Job, left: number): FaultScript[] {
  if (job === 'news' && left <= 10) return [when({ endpoint: 'news' }, faults.refuse(503))];
  if (job === 'meme-signals' && left === 9)
    return [when({ endpoint: 'memeSignals', from: 2 }, faults.refuse(503))];
  if (job === 'ai-signals' && left === 2)
    return [
      when(
        { endpoint: 'aiSignals', nth: 1 },
        faults.editRow((row) => ({ ...row, confidence: 'high' })),
      ),
    ];
  return [];
}

const upstream = (model: ModelApi, job: Job): Dataset | undefined =>
  ({
    'ai-signals': model.data.aiSignals,
    news: model.data.news,
    'smart-wallets': model.data.smartWallets,
    'meme-signals': model.data.memeSignals,
    usage: undefined,
  })[job];

/** Time that only walks and steps move on. */
export function steppedClock(start: number): Clock & { advance(ms: number): void } {
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
    after: () => () => undefined,
  };
}

/** Leaves a mirror in `dir` whose last walk ended just before the clock's time. */
export async function live(dir: string, clock: ReturnType<typeof steppedClock>): Promise<void> {
  const random = seededRandom(14);
  const model = await startModelApi({
    now: clock.now,
    epoch: clock.now(),
    rows: ROWS,
    quota: { limit: 120, periodMs: HOUR_MS },
  });
  const environment = { MARKET_API_URL: model.url, MARKET_API_KEY: sampleKey.key, MIRROR_DIR: dir };
  const app = await openApp({ environment, clock, random });
  try {
    const steps = LASTS_MS / STEP_MS;
    for (let step = 0; step < steps; step += 1) await liveStep(step, steps, { model, app, clock, random });
  } finally {
    await app.close();
    await model.close();
  }
}

type Parts = { model: ModelApi; app: App; clock: ReturnType<typeof steppedClock>; random: Random };

async function liveStep(step: number, steps: number, { model, app, clock, random }: Parts): Promise<void> {
  const began = clock.now();
  for (const job of Object.keys(paces) as Job[]) {
    const dataset = upstream(model, job);
    for (let edit = 0; dataset && edit < paces[job].edits; edit += 1) liveEdit(dataset, random, clock.now());
    if (dataset?.generatedAt) dataset.generatedAt = isoTime(clock.now());
    // What waits is tried again.
    const isDue = step % paces[job].every === 0 || troubleOf(job, steps - step).length > 0;
    if (isDue) await walkOnce(job, steps - step, { model, app, clock, random });
    app.store.keepNextDue(job, began + STEP_MS * (paces[job].every - (step % paces[job].every)));
  }
  // One looks at it soon after the last walks.
  if (step < steps - 1) clock.advance(Math.max(0, began + STEP_MS - clock.now()));
  else clock.advance(40_000);
}

async function walkOnce(job: Job, left: number, { model, app }: Parts): Promise<void> {
  model.faults.length = 0;
  model.faults.push(...troubleOf(job, left));
  // What goes wrong is written down by the mirror, and the page shows it.
  await app.mirror(app.job(job), AbortSignal.timeout(60_000)).catch(() => undefined);
}
