/** `market-mirror demo`: mirrors a model of the API with sample data. On a terminal it first makes two days of history, then goes on with the page until Ctrl-C. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { type ModelApi, sampleKey } from '../../model-api/index.ts';
import { exitCodes, Failure } from '../base/errors.ts';
import { forShell } from '../base/printable.ts';
import { settingOf } from '../config.ts';
import { type ListedJob, listJobs, scopesOf } from '../job/list.ts';
import { count } from '../output/numbers.ts';
import { readService } from '../reading/status.ts';
import { openKeyring } from '../serve/access/keyring.ts';
import type { Context } from './context.ts';
import { LATENCY_MS, livePast, PAST_MS, quota, startModel, steppedClock, TROUBLED } from './demo-past.ts';
import { withExamples } from './help.ts';
import { linkToPage } from './keys.ts';
import { progressLines } from './live-lines.ts';
import { changing } from './model-api.ts';
import { queryCommand } from './query.ts';
import { statusCommand } from './status.ts';
import { describeWalk } from './sync.ts';

/** Of every list, on a terminal. */
const LIVE_CHANGES = { count: 3, periodMs: 20_000 };
const LIVE_SCHEDULE = 'every 30s';
/** How long the service may take to come up. */
const SERVICE_TRIES = { count: 100, everyMs: 100 };

const QUERY = 'SELECT job, rows, complete_as_of, verdict FROM freshness';

type Options = { keep?: true };

export function demoCommand(context: Context): Command {
  const command = new Command('demo')
    .option('--keep', 'keep the folder of the sample data, and name it')
    .action((options: Options) => demo(options, context));
  return withExamples(command, [
    'takes some seconds, and needs neither address nor key; on a terminal it goes on until Ctrl-C',
    'demo',
  ]);
}

async function demo({ keep }: Options, context: Context): Promise<void> {
  const { signal, stdout } = context;
  const dir = mkdtempSync(join(tmpdir(), 'market-mirror-demo-'));
  stdout.write(`This is sample data of a model of the API on this machine; no call leaves it.
The model allows ${quota.limit} calls every ${quota.periodMs / 1_000} s.\n\n`);
  try {
    await (stdout.isTTY ? showUntilStopped(dir, context) : showOnce(dir, context));
  } finally {
    if (!keep) rmSync(dir, { recursive: true, force: true });
    const left = keep
      ? `The sample data stays in ${dir}; when you are done: rm -r ${forShell(dir)}`
      : 'Nothing is left of it; demo --keep keeps its database.';
    stdout.write(`\n${signal.aborted ? 'Stopped' : 'The demo has ended'}. ${left}\n`);
  }
}

/** From an empty folder to the first answers. */
async function showOnce(dir: string, context: Context): Promise<void> {
  const names = (await listJobs()).map(({ name }) => name);
  const model = await startModel(context.clock.now);
  try {
    model.latencyMs = LATENCY_MS;
    const daemon = await startDaemon(context, environmentOf(model, dir), names, false);
    await daemon.mirrored.finally(daemon.end);
    if (context.signal.aborted) return context.exit(exitCodes.incomplete);
    await showStatusAndQuery(context, dir, model);
  } finally {
    await model.close();
  }
}

/** From two days of history to a service and a page, over lists that go on changing. */
async function showUntilStopped(dir: string, context: Context): Promise<void> {
  const { clock, signal, stdout } = context;
  const jobs = await listJobs();
  const names = jobs.map(({ name }) => name);
  const past = steppedClock(clock.now() - PAST_MS);
  let isPast = true;
  const model = await startModel(() => (isPast ? past : clock).now());
  try {
    stdout.write('First it makes two days of sample history (a few seconds).\n\n');
    await livePast(model, { dir, jobs: names, clock: past, signal }).catch((thrown: unknown) => {
      if (!signal.aborted) throw thrown;
    });
    if (signal.aborted) return context.exit(exitCodes.incomplete);
    isPast = false;
    model.latencyMs = LATENCY_MS;
    model.beforeAnswer = changing(LIVE_CHANGES, 2, clock.now());
    const environment = {
      ...environmentOf(model, dir),
      ...Object.fromEntries(names.map((name) => [settingOf(name), LIVE_SCHEDULE])),
      MIRROR_SERVE: '127.0.0.1:0',
      // What the service logs would go between the lines.
      LOG_LEVEL: 'error',
    };
    const untroubled = names.filter((name) => name !== TROUBLED);
    const daemon = await startDaemon(context, environment, untroubled, true);
    try {
      await daemon.mirrored;
      if (signal.aborted) return context.exit(exitCodes.incomplete);
      await showStatusAndQuery(context, dir, model);
      await showService(context, dir, jobs);
      await daemon.ended;
    } finally {
      await daemon.end();
    }
  } finally {
    await model.close();
  }
}

const environmentOf = (model: ModelApi, dir: string) => ({
  MARKET_API_URL: model.url,
  MARKET_API_KEY: sampleKey.key,
  MIRROR_DIR: dir,
});

/**
 * Runs the daemon, with a Redis of its own. Until it has mirrored the datasets of `first`, each has a line that tells how far it is.
 * @param skipWaits a dataset that has to wait is not waited for.
 * @returns `mirrored` resolves when every dataset of `first` was mirrored, or the daemon has ended.
 */
async function startDaemon(
  { clock, random, stderr, signal }: Context,
  environment: Record<string, string>,
  first: readonly string[],
  skipWaits: boolean,
) {
  const [{ runDaemon }, { createLog }] = await Promise.all([
    import('../daemon.ts'),
    import('../base/log.ts'),
  ]);
  const lines = progressLines(stderr, clock);
  const left = new Set(first);
  const ending = new AbortController();
  let finish = () => {};
  const mirrored = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const note = (job: string, text: string, isOver: boolean) => {
    if (!left.has(job)) return;
    lines.note(job, text);
    if (isOver) left.delete(job);
    if (left.size > 0) return;
    lines.end();
    finish();
  };
  const ended = runDaemon(
    {
      environment,
      clock,
      random,
      // While it goes on, the page shows what goes wrong.
      log: createLog(skipWaits ? 'fatal' : 'error', stderr.isTTY === true),
      progress: (at) => left.has(at.job) && lines.page(at),
      waits: (job, { until, reason }) =>
        note(job, `waiting ${Math.ceil((until - clock.now()) / 1_000)} s (${reason})`, skipWaits),
      ended: (job, walk) => note(job, describeWalk(walk), !walk.error),
    },
    AbortSignal.any([signal, ending.signal]),
  );
  ended.catch(() => undefined);
  return {
    mirrored: Promise.race([mirrored, ended]),
    ended,
    end() {
      ending.abort();
      return ended;
    },
  };
}

async function showStatusAndQuery(context: Context, dir: string, model: ModelApi): Promise<void> {
  const { stdout, hint } = context;
  // A problem of the sample data is no failure of the demo.
  const here = { ...context, environment: { MIRROR_DIR: dir }, exit: () => undefined };
  stdout.write(hint('\n$ market-mirror status\n'));
  await statusCommand(here).parseAsync([], { from: 'user' });
  stdout.write(hint(`\n$ market-mirror query "${QUERY}"\n`));
  await queryCommand(here).parseAsync([QUERY], { from: 'user' });
  const refused = model.calls.filter(({ status }) => status === 429).length;
  const refusals = refused === 0 ? 'none of them was refused' : `${refused} of them got a 429`;
  stdout.write(`\n${count(model.calls.length, 'call')}; ${refusals}.\n`);
}

/** Prints how to look at the mirror while the demo goes on. */
async function showService(context: Context, dir: string, jobs: readonly ListedJob[]): Promise<void> {
  const { clock, stdout, hint } = context;
  const url = await serviceUrl(dir, context);
  if (url === undefined) return;
  const keyring = openKeyring(dir);
  const terms = { name: 'demo', account: 'demo', scopes: scopesOf(jobs), addresses: null, expiresAt: null };
  const { key } = keyring.create(terms, undefined, clock.now());
  keyring.close();
  stdout.write(`
The daemon runs. The lists change every few seconds, and the model refuses
${TROUBLED}, to show what a problem looks like. While this runs:

  MIRROR_DIR=${forShell(dir)} ${hint('market-mirror query')} "SELECT * FROM ${jobs[0]?.table} LIMIT 3"
  curl -H "Authorization: Bearer ${key}" "${url}/api/v1/ai-signals?limit=3"

And its page, in a browser:

  ${linkToPage(dir, clock.now()).url}

Ctrl-C ends it.
`);
}

/** Undefined when the demo was stopped. */
async function serviceUrl(dir: string, { clock, signal }: Context): Promise<string | undefined> {
  for (let left = SERVICE_TRIES.count; left > 0; left -= 1) {
    const url = readService(dir)?.url;
    if (url) return url;
    await clock.sleep(SERVICE_TRIES.everyMs, signal).catch(() => undefined);
    if (signal.aborted) return undefined;
  }
  throw new Failure(
    'incomplete',
    'the service of the demo does not come up; market-mirror serve may tell why',
  );
}
