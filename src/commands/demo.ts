/**
 * `market-mirror demo`: the daemon on a model of the API, from an empty folder to the first answers. On a terminal it goes on,
 * with the service and its page, until Ctrl-C.
 */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { type ModelApi, sampleKey } from '../../model-api/index.ts';
import { exitCodes } from '../errors.ts';
import { type ListedJob, listJobs } from '../job-list.ts';
import type { Context } from './context.ts';
import { liveSettings, showService } from './demo/live.ts';
import { LATENCY_MS, quota, startModel } from './demo/model.ts';
import { livePast, PAST_MS, steppedClock, TROUBLED } from './demo/past.ts';
import { withExamples } from './help.ts';
import { changing } from './model-api/changing.ts';
import { describeWalk, progressLines } from './progress-lines.ts';
import { queryCommand } from './query.ts';
import { statusCommand } from './status.ts';

/** Of every list, for who stays to see it. */
const changes = { count: 3, periodMs: 20_000 };

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
  /** Who was told of the folder may look into it; else it goes. */
  let isTold = false;
  const jobs = await listJobs();
  const unlessAborted = (thrown: unknown) => {
    if (!signal.aborted) throw thrown;
  };
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
      await livePast(model, { dir, jobs: names, clock: past, signal }).catch(unlessAborted);
      if (signal.aborted) return context.exit(exitCodes.incomplete);
      isPast = false;
      model.beforeAnswer = changing(changes, 2, clock.now());
    }
    model.latencyMs = LATENCY_MS;
    const daemon = await startDaemon(context, model, dir, jobs, stays);
    try {
      await daemon.mirrored;
      if (!stays) await daemon.end();
      if (context.signal.aborted) return context.exit(exitCodes.incomplete);
      await look(context, dir);
      tell(context, model, dir, jobs);
      isTold = true;
      if (!stays) return;
      await showService(context, dir, jobs, daemon.over);
    } finally {
      await daemon.end();
    }
  } finally {
    await model.close();
    if (!isTold) rmSync(dir, { recursive: true, force: true });
    if (signal.aborted) say(isTold ? `\nStopped. ${leftIn(dir)}` : '\nStopped; nothing is left of it.');
  }
}

const leftIn = (dir: string) => `The sample data stays in ${dir}; when you are done: rm -r ${forShell(dir)}`;

const forShell = (path: string) => (/^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`);

type Daemon = {
  /** When every dataset was mirrored once, or the daemon has ended. */
  readonly mirrored: Promise<void>;
  readonly over: Promise<void>;
  end(): Promise<void>;
};

/** Runs the daemon, with a Redis of its own. */
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
  // It is in trouble from the past on.
  const left = new Set(names.filter((name) => !isLive || name !== TROUBLED));
  const ending = new AbortController();
  let isMirrored = () => {};
  const mirrored = new Promise<void>((resolve) => {
    isMirrored = resolve;
  });
  const over = runDaemon(
    {
      environment: {
        MARKET_API_URL: model.url,
        MARKET_API_KEY: sampleKey.key,
        MIRROR_DIR: dir,
        ...(isLive && liveSettings(jobs)),
      },
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
        isMirrored();
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

/** What anyone would do next: the status, and two questions. */
async function look(context: Context, dir: string): Promise<void> {
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

function tell({ stdout }: Context, model: ModelApi, dir: string, jobs: readonly ListedJob[]): void {
  const refused = model.calls.filter(({ status }) => status === 429).length;
  const database = join(dir, 'mirror.db');
  stdout.write(`${model.calls.length} calls were made, ${refused} of them answered with 429.
The database is ${database}: open it with any SQLite tool, such as

  MIRROR_DIR=${forShell(dir)} npx market-mirror query "SELECT * FROM ${jobs[0]?.table} LIMIT 3"
  sqlite3 ${forShell(database)}

All of it is sample data. It stays in ${dir}; when you are done: rm -r ${forShell(dir)}
The README tells how to mirror the real API.
`);
}
