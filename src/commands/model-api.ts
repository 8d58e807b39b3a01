/** `market-mirror model-api`: the model of the API on a loopback port, to rehearse without spending a call. */

import { once } from 'node:events';
import { Command } from 'commander';
import ms from 'ms';
import {
  type ApiKey,
  type BeforeAnswer,
  describeFaults,
  type FaultScript,
  faults,
  liveEdit,
  type ModelApi,
  type ModelOptions,
  parseFaults,
  type RateOptions,
  sampleKey,
  scopes,
  seededRandom,
  startModelApi,
  when,
} from '../../model-api/index.ts';
import { isoTime } from '../base/clock.ts';
import { Failure, toError } from '../base/errors.ts';
import type { Context } from './context.ts';
import { withExamples } from './help.ts';

type Options = {
  port: number;
  rows: number;
  seed: number;
  quota?: PerPeriod;
  rate?: RateOptions;
  concurrency?: number;
  latency: number;
  changes?: PerPeriod;
  faults?: FaultScript[];
};

type Surroundings = Pick<Context, 'environment' | 'stdout' | 'stderr' | 'signal'>;

const DEFAULT_PORT = 4010;
const DEFAULT_ROWS = 1_000;
/** Of each list; a row takes about a kilobyte. */
const MAX_ROWS = 200_000;
/** A model may run for weeks; only tests read its calls. */
const KEPT_CALLS = 1_000;

const help = `
A key is never given on the command line: the model accepts the one in MARKET_API_KEY, else a sample key.

Faults are a list such as "503:0.05,news=html@3,slow(2s)@10-20":
  [endpoint=]name[(argument)][:chance | @call | @first-last | @first-]
without a chance or a call they strike every time; calls are counted per entry, the first is 1. Names,
each with its argument where none is given:
${describeFaults()}`;

export function modelApiCommand(context: Surroundings): Command {
  const command = new Command('model-api')
    .option(
      '--port <number>',
      'port on 127.0.0.1; 0 takes a free one',
      whole('--port', 0, 65_535),
      DEFAULT_PORT,
    )
    .option('--rows <number>', 'rows of every list', whole('--rows', 0, MAX_ROWS), DEFAULT_ROWS)
    .option('--seed <number>', 'the same seed serves the same data', whole('--seed', 0, 2 ** 32 - 1), 1)
    .option(
      '--quota <calls/period>',
      'what the account may call in a period, such as 100/1m',
      readPerPeriod('--quota'),
    )
    .option(
      '--rate <calls[/period][+burst]>',
      'a second, or a period: such as 5, 5/1s or 300/1m+10',
      parseRate,
    )
    .option('--concurrency <number>', 'calls at the same time', whole('--concurrency', 1, 10_000))
    .option('--latency <duration>', 'before every answer, such as 50ms', parseLatency, 0)
    .option('--changes <edits/period>', 'edits of every list, such as 10/1m', readPerPeriod('--changes'))
    .option('--faults <list>', 'scripted faults: see below', readFaults)
    .addHelpText('after', help)
    .action((options: Options) => serve(options, context));
  return withExamples(
    command,
    ['a small account: twenty calls a minute', 'model-api --rows 300 --quota 20/1m'],
    [
      'one endpoint in trouble, all of them slow',
      'model-api --latency 200ms --faults "news=503:0.1,news=slow(2s)@10-20"',
    ],
  );
}

async function serve(options: Options, { environment, stdout, stderr, signal }: Surroundings): Promise<void> {
  const { port, rows, seed, rate, concurrency, quota } = options;
  const givenKey = environment['MARKET_API_KEY'];
  const key: ApiKey = givenKey ? { id: 'yours', key: givenKey, scopes } : sampleKey;
  const model = await startOn({
    port,
    rows,
    seed,
    keys: [key],
    latencyMs: options.latency,
    ...(rate && { rate }),
    ...(concurrency && { concurrency }),
    ...(quota && { quota: { limit: quota.count, periodMs: quota.periodMs } }),
    ...(options.changes && { beforeAnswer: changing(options.changes, seed, Date.now()) }),
    // Signals are new, and age from now on.
    epoch: Date.now(),
    faults: [when({}, faults.ageing()), ...(options.faults ?? [])],
    keepCalls: KEPT_CALLS,
  });
  try {
    const [which, where] = givenKey
      ? ['the key in MARKET_API_KEY', 'another shell, with the same key']
      : ['a sample key', 'another shell'];
    stderr.write(`This is a model of the API: all data is sample data, made up from a seed.
It accepts ${which}, and ends with Ctrl-C. In ${where}:
`);
    // In one piece and at the end: where both outputs go to one file, nothing may come between the two.
    const keyLine = givenKey ? '' : `export MARKET_API_KEY=${sampleKey.key}\n`;
    stdout.write(`export MARKET_API_URL=${model.url}\n${keyLine}`);
    if (!signal.aborted) await once(signal, 'abort');
  } finally {
    await model.close();
  }
}

/** So many in a period. */
type PerPeriod = { count: number; periodMs: number };

/** Edits every list so many times in a period from `started` on. Edits are made at the next call, as of when they were due. */
export function changing({ count, periodMs }: PerPeriod, seed: number, started: number): BeforeAnswer {
  const random = seededRandom(seed);
  let made = 0;
  return ({ at }, { data }) => {
    const due = Math.floor(((at - started) * count) / periodMs);
    if (due > made)
      for (const dataset of Object.values(data)) if (dataset.generatedAt) dataset.generatedAt = isoTime(at);
    for (; made < due; made++) {
      const madeAt = Math.round(started + ((made + 1) * periodMs) / count);
      for (const dataset of Object.values(data)) liveEdit(dataset, random, madeAt);
    }
  };
}

async function startOn(options: ModelOptions): Promise<ModelApi> {
  try {
    return await startModelApi(options);
  } catch (thrown) {
    const { code, message } = toError(thrown) as NodeJS.ErrnoException;
    if (code === 'EADDRINUSE') throw new Failure('usage', `--port ${options.port} is in use: choose another`);
    throw new Failure('usage', `cannot serve on --port ${options.port}: ${message}`, { cause: thrown });
  }
}

function readPerPeriod(option: string): (text: string) => PerPeriod {
  return (text) => {
    const [, count, period] = /^(\d{1,9})\/(.+)$/.exec(text) ?? [];
    const periodMs = duration(period);
    if (count === undefined || !periodMs) throw wrong(option, text, 'a number per period, such as 100/1m');
    return { count: Number(count), periodMs };
  };
}

function parseRate(text: string): RateOptions {
  const [, calls, period, burst] = /^(\d+(?:\.\d+)?)(?:\/([^+]+))?(?:\+([1-9]\d{0,5}))?$/.exec(text) ?? [];
  const periodMs = duration(period ?? '1s');
  if (!Number(calls) || !periodMs)
    throw wrong('--rate', text, 'calls[/period][+burst], such as 5, 5/1s or 300/1m+10');
  const perSecond = (Number(calls) * 1_000) / periodMs;
  return burst === undefined ? { perSecond } : { perSecond, burst: Number(burst) };
}

function parseLatency(text: string): number {
  const latency = duration(text);
  if (latency === undefined) throw wrong('--latency', text, 'a duration, such as 50ms');
  return latency;
}

function readFaults(text: string): FaultScript[] {
  try {
    return parseFaults(text);
  } catch (thrown) {
    throw new Failure('usage', `--faults: ${toError(thrown).message}`);
  }
}

function whole(option: string, least: number, most: number): (text: string) => number {
  return (text) => {
    const number = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (!(number >= least && number <= most))
      throw wrong(option, text, `a whole number from ${least} to ${most}`);
    return number;
  };
}

/** Milliseconds; undefined for text that is no duration. */
function duration(text: string | undefined): number | undefined {
  if (text === undefined || !/^\d.{0,20}$/.test(text)) return undefined;
  const length = ms(text as ms.StringValue) as number | undefined;
  return length !== undefined && length < 2 ** 31 ? length : undefined;
}

function wrong(option: string, text: string, expected: string): Failure {
  return new Failure('usage', `${option} is ${expected}, not "${text}"`);
}
