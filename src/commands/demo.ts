/**
 * `market-mirror demo`: the daemon on a model of the API, from an empty folder to the first answers. On a terminal it goes on,
 * with the service and its page, until Ctrl-C.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { type ModelApi, sampleKey } from '../../model-api/index.ts';
import { settingOf } from '../config.ts';
import { exitCodes, Failure } from '../errors.ts';
import { type ListedJob, listJobs, scopesOf } from '../job-list.ts';
import { readService } from '../reading/status.ts';
import { openKeyring } from '../serve/service/keys.ts';
import type { Context } from './context.ts';
import { LATENCY_MS, livePast, PAST_MS, quota, startModel, steppedClock, TROUBLED } from './demo-past.ts';
import { withExamples } from './help.ts';
import { linkToPage } from './keys.ts';
import { changing } from './model-api.ts';
import { queryCommand } from './query.ts';
import { statusCommand } from './status.ts';
import { describeWalk, progressLines } from './sync.ts';

/** Of every list, for who stays to see it. */
const changes = { count: 3, periodMs: 20_000 };
/** For people who wait for something to happen. */
const LIVE_SCHEDULE = 'every 30s';
/** How long the service may take to come up. */
const TRIES = { count: 100, everyMs: 100 };

const queries = [
  'SELECT job, rows, complete_as_of, verdict FROM freshness',
  `SELECT job, path, types, example FROM fields
WHERE example IS NOT NULL GROUP BY job, types ORDER BY job, types`,
];

export function demoCommand(context: Context): Command {
  const command = new Command('demo').action(() => demo(context));
  return withExamples(command, [
    'takes about half a minute, and needs neither address nor key; on a terminal it stays until Ctrl-C',
    'demo',
  ]);
}

async function demo(context: Context): Promise<void> {
  const { clock, signal } = context;
  const say = (text: string) => context.stdout.write(`${text}\n`);
  const stays = context.stdout.isTTY === true;
  const dir = mkdtempSync(join(tmpdir(), 'market-mirror-demo-'));
  /** Whoever was told of the folder may look into it; else it goes. */
  let isTold = false;
  const jobs = await listJobs();
  // The model tells the time of the past while that is lived, and then of now.
  const past = steppedClock(clock.now() - PAST_MS);
  let isPast = stays;
  const model = await startModel(() => (isPast ? past : clock).now());
  say('This is sample data, made up by a model of the API on this machine; no call leaves it.');
  say(
    `The model allows ${quota.limit} calls every ${quota.periodMs / 1_000} s; watch the mirror live with that.\n`,
  );
  try {
    if (stays) {
      say('Some days of it are lived first, in seconds, so that there is a past to look at.\n');
      const names = jobs.map(({ name }) => name);
      await livePast(model, { dir, jobs: names, clock: past, signal }).catch((thrown: unknown) => {
        if (!signal.aborted) throw thrown;
      });
      if (signal.aborted) return context.exit(exitCodes.incomplete);
      isPast = false;
      model.beforeAnswer = changing(changes, 2, clock.now());
    }
    model.latencyMs = LATENCY_MS;
    const daemon = await startDaemon(context, model, dir, jobs, stays);
    try {
      await daemon.mirrored;
      if (!stays) await daemon.end();
      if (signal.aborted) return context.exit(exitCodes.incomplete);
      await showStatusAndQueries(context, dir);
      say(whatWasDone(model, dir, jobs));
      isTold = true;
      if (!stays) return;
      if (await showService(context, dir, jobs)) await daemon.over;
    } finally {
      await daemon.end();
    }
  } finally {
    await model.close();
    if (!isTold) rmSync(dir, { recursive: true, force: true });
    if (signal.aborted)
      say(isTold ? `\nStopped. The sample data ${staysIn(dir)}` : '\nStopped; nothing is left of it.');
  }
}

type Daemon = {
  /** When every dataset was mirrored once, or the daemon has ended. */
  readonly mirrored: Promise<void>;
  readonly over: Promise<void>;
  end(): Promise<void>;
};

/** Runs the daemon, with a Redis of its own and, where it is live, the service on a port of its own. */
async function startDaemon(
  context: Context,
  model: ModelApi,
  dir: string,
  jobs: readonly ListedJob[],
  isLive: boolean,
): Promise<Daemon> {
  const [{ runDaemon }, { createLog }] = await Promise.all([import('../daemon.ts'), import('../log.ts')]);
  const { clock, random, stderr, signal } = context;
  const names = jobs.map(({ name }) => name);
  const lines = await progressLines(stderr, names, clock);
  // The troubled one is so from the past on.
  const left = new Set(names.filter((name) => !isLive || name !== TROUBLED));
  const ending = new AbortController();
  let finish = () => {};
  const mirrored = new Promise<void>((resolve) => {
    finish = resolve;
  });
  const environment = {
    MARKET_API_URL: model.url,
    MARKET_API_KEY: sampleKey.key,
    MIRROR_DIR: dir,
    // What the service logs would go between the lines.
    ...(isLive && { MIRROR_SERVE: '127.0.0.1:0', LOG_LEVEL: 'error' }),
    ...(isLive && Object.fromEntries(names.map((name) => [settingOf(name), LIVE_SCHEDULE]))),
  };
  const over = runDaemon(
    {
      environment,
      clock,
      random,
      // What goes wrong later on is seen on the page.
      log: createLog(isLive ? 'fatal' : 'error', stderr.isTTY === true),
      progress: (at) => left.size > 0 && lines.page(at),
      waits(job, { until, reason }) {
        if (left.size > 0)
          lines.note(job, `waiting ${Math.ceil((until - clock.now()) / 1_000)} s (${reason})`);
      },
      ended(job, walk) {
        if (left.size === 0) return;
        lines.note(job, describeWalk(walk));
        if (!walk.error) left.delete(job);
        if (left.size > 0) return;
        lines.end();
        finish();
      },
    },
    AbortSignal.any([signal, ending.signal]),
  );
  over.catch(() => undefined);
  return {
    mirrored: Promise.race([mirrored, over]),
    over,
    end() {
      ending.abort();
      return over;
    },
  };
}

/** What anyone would do next. */
async function showStatusAndQueries(context: Context, dir: string): Promise<void> {
  // The trouble of sample data is no failure of the demo.
  const here = { ...context, environment: { MIRROR_DIR: dir }, exit: () => undefined };
  context.stdout.write('\n$ market-mirror status\n');
  await statusCommand(here).parseAsync([], { from: 'user' });
  for (const sql of queries) {
    context.stdout.write(`\n$ market-mirror query "${sql}"\n`);
    await queryCommand(here).parseAsync([sql], { from: 'user' });
  }
  context.stdout.write('\n');
}

function whatWasDone(model: ModelApi, dir: string, jobs: readonly ListedJob[]): string {
  const refused = model.calls.filter(({ status }) => status === 429).length;
  const database = join(dir, 'mirror.db');
  return `${model.calls.length} calls were made, ${refused} of them answered with 429.
The database is ${database}: open it with any SQLite tool, such as

  MIRROR_DIR=${forShell(dir)} npx market-mirror query "SELECT * FROM ${jobs[0]?.table} LIMIT 3"
  sqlite3 ${forShell(database)}

All of it is sample data. It ${staysIn(dir)}
The README tells how to mirror the real API.`;
}

const staysIn = (dir: string) => `stays in ${dir}; when you are done: rm -r ${forShell(dir)}`;

const forShell = (path: string) => (/^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`);

/** Prints how to look at the service and the page. @returns false where it was told to stop. */
async function showService(context: Context, dir: string, jobs: readonly ListedJob[]): Promise<boolean> {
  const { stdout, clock, signal } = context;
  const url = await serviceUrl(dir, context);
  if (url === undefined) return false;
  const keyring = openKeyring(dir);
  const terms = { name: 'demo', account: 'demo', scopes: scopesOf(jobs), addresses: null, expiresAt: null };
  const { key } = keyring.create(terms, undefined, clock.now());
  keyring.close();
  stdout.write(`
The mirror goes on, with lists that change every few seconds; the model refuses ${TROUBLED} since some hours, so
that you see how trouble is shown. While this runs, the mirror answers as the API does, to who has a key:

  curl -H "Authorization: Bearer ${key}" "${url}/api/v1/ai-signals?limit=3"

And it has a page to look at:

  ${linkToPage(dir, clock.now()).url}

Ctrl-C ends it.
`);
  return !signal.aborted;
}

/** Undefined where it was told to stop. */
async function serviceUrl(dir: string, { clock, signal }: Context): Promise<string | undefined> {
  for (let left = TRIES.count; left > 0; left -= 1) {
    const url = readService(dir)?.url;
    if (url) return url;
    await clock.sleep(TRIES.everyMs, signal).catch(() => undefined);
    if (signal.aborted) return undefined;
  }
  throw new Failure(
    'incomplete',
    'the service of the demo does not come up; market-mirror serve may tell why',
  );
}
