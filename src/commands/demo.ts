/** `market-mirror demo`: the daemon on a model of the API, from an empty folder to the first answers. */

import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { faults, type ModelApi, sampleKey, startModelApi, when } from '../../model-api/index.ts';
import { exitCodes } from '../errors.ts';
import { type ListedJob, listJobs } from '../job-list.ts';
import type { Context } from './context.ts';
import { withExamples } from './help.ts';
import { describeWalk, progressLines } from './progress-lines.ts';
import { queryCommand } from './query.ts';
import { statusCommand } from './status.ts';

/** Of each list. */
const ROWS = 430;
/** Small enough to be felt: the datasets take more calls than one period allows. */
const quota = { limit: 12, periodMs: 10_000 };

const queries = [
  'SELECT job, rows, complete_as_of, verdict FROM freshness',
  `SELECT job, path, types, example FROM fields
WHERE example IS NOT NULL GROUP BY job, types ORDER BY job, types`,
];

export function demoCommand(context: Context): Command {
  const command = new Command('demo').action(() => demo(context));
  return withExamples(command, ['takes about half a minute, and needs neither address nor key', 'demo']);
}

async function demo(context: Context): Promise<void> {
  const say = (text: string) => context.stdout.write(`${text}\n`);
  const dir = mkdtempSync(join(tmpdir(), 'market-mirror-demo-'));
  const model = await startModel(context);
  say('This is sample data, made up by a model of the API on this machine; no call leaves it.');
  say(
    `The model allows ${quota.limit} calls every ${quota.periodMs / 1_000} s; watch the mirror live with that.\n`,
  );
  const jobs = await listJobs();
  try {
    await mirrorAll(context, model, dir, jobs);
  } finally {
    await model.close();
  }
  if (context.signal.aborted) return context.exit(exitCodes.incomplete);
  await look(context, dir);
  const refused = model.calls.filter(({ status }) => status === 429).length;
  say(`${model.calls.length} calls were made, ${refused} of them answered with 429.`);
  say(`The database is ${join(dir, 'mirror.db')}: open it with any SQLite tool, such as\n`);
  say(`  MIRROR_DIR=${dir} npx market-mirror query "SELECT * FROM ${jobs[0]?.table} LIMIT 3"`);
  say(`  sqlite3 ${join(dir, 'mirror.db')}\n`);
  say('All of it is sample data. The README tells how to mirror the real API.');
}

async function startModel({ clock }: Context): Promise<ModelApi> {
  return await startModelApi({
    rows: ROWS,
    quota,
    latencyMs: 40,
    epoch: clock.now(),
    faults: [when({}, faults.ageing())],
  });
}

/** Runs the daemon, with a Redis of its own, until it has mirrored every dataset once. */
async function mirrorAll(
  context: Context,
  model: ModelApi,
  dir: string,
  jobs: readonly ListedJob[],
): Promise<void> {
  const [{ runDaemon }, { createLog }] = await Promise.all([import('../daemon.ts'), import('../log.ts')]);
  const { clock, random, stderr, signal } = context;
  const names = jobs.map(({ name }) => name);
  const lines = await progressLines(stderr, names, clock);
  const left = new Set(names);
  const finished = new AbortController();
  await runDaemon(
    {
      environment: {
        MARKET_API_URL: model.url,
        MARKET_API_KEY: sampleKey.key,
        MIRROR_DIR: dir,
      },
      clock,
      random,
      log: createLog('error', stderr.isTTY === true),
      progress: lines.page,
      waits: (job, { until, reason }) =>
        lines.note(job, `waiting ${Math.ceil((until - clock.now()) / 1_000)} s (${reason})`),
      ended(job, walk) {
        lines.note(job, describeWalk(walk));
        if (!walk.error) left.delete(job);
        if (left.size === 0) finished.abort();
      },
    },
    AbortSignal.any([signal, finished.signal]),
  );
  lines.end();
}

/** What anyone would do next: the status, and two questions. */
async function look(context: Context, dir: string): Promise<void> {
  const here = { ...context, environment: { MIRROR_DIR: dir } };
  context.stdout.write('\n$ market-mirror status\n');
  await statusCommand(here).parseAsync([], { from: 'user' });
  for (const sql of queries) {
    context.stdout.write(`\n$ market-mirror query "${sql}"\n`);
    await queryCommand(here).parseAsync([sql], { from: 'user' });
  }
  context.stdout.write('\n');
}
