/** The service as a child of the daemon: started again whenever it ends, and ended with the daemon. */

import { spawn } from 'node:child_process';
import type { Clock, Random } from '../base/clock.ts';
import { exitCodes, toError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { programArgs, programFile } from '../base/program-file.ts';
import { type Environment, forService } from '../config.ts';
import type { ServeWord, Trouble } from '../reading/status.ts';
import { keepTrying, type Outcome, type Pauses, type Problem, usualPauses } from './keep-trying.ts';

type ServiceProcess = {
  /** Ends it for good. */
  end(): Promise<void>;
};

type ServiceParts = {
  dir: string;
  environment: Environment;
  clock: Clock;
  random: Random;
  log: Pick<Log, 'info' | 'warn' | 'error'>;
  /** Gets why the service does not run, and null when it listens. */
  onProblem: (problem: Trouble | null) => void;
  /** `market-mirror serve` unless given. */
  program?: readonly string[];
  timing?: Partial<Timing>;
};

/** Milliseconds. */
export type Timing = Pauses & {
  /** The end of a service that ran for so long counts as the first. */
  steady: number;
  /** Between SIGTERM and SIGKILL. */
  grace: number;
};

/** The service takes up to 8 s to end by itself. The daemon, which promises to end within 10 s, needs the rest. */
const usual: Timing = { ...usualPauses, steady: 60_000, grace: 9_000 };

/** The note beside the lock has room for two such. */
const LONGEST_MESSAGE = 500;

export function keepServing(parts: ServiceParts): ServiceProcess {
  const { clock, random, log } = parts;
  const timing = { ...usual, ...parts.timing };
  const ending = new AbortController();
  const { signal } = ending;
  // The system may refuse to start any process for now.
  const refused = (thrown: unknown) => ({ message: toError(thrown).message, isHopeless: false });
  async function attempt(): Promise<readonly Outcome[]> {
    const began = clock.monotonic();
    const problem = await runOnce(parts, timing.grace, listens, signal).catch(refused);
    return [{ of: SERVICE, problem, wasSteady: clock.monotonic() - began >= timing.steady }];
  }
  let url = '';
  const listens = (at: string) => {
    url = at;
    works(SERVICE);
  };
  const { works, ended } = keepTrying({
    ...{ all: [SERVICE], attempt, clock, random, pauses: timing, signal, note: parts.onProblem },
    fails: (message, nextTry) =>
      log.error({ nextTry }, `the service does not run: ${message}; mirroring goes on`),
    goesOn: () => log.info({ url }, 'the service runs again'),
  });
  return {
    async end() {
      ending.abort();
      await ended;
    },
  };
}

const SERVICE = 'serve';

/**
 * Runs the service until it ends. The kernel closes the channel between us when we die, by which it learns of our end. It is
 * detached from our group, so that a Ctrl-C reaches us alone.
 */
async function runOnce(
  { dir, environment, clock, program = ownProgram() }: ServiceParts,
  graceMs: number,
  listens: (url: string) => void,
  signal: AbortSignal,
): Promise<Problem> {
  const [command = '', ...args] = program;
  const child = spawn(command, args, {
    env: forService(environment, dir),
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    detached: true,
  });
  let failed: string | undefined;
  child.on('message', (word: ServeWord) => {
    if ('failed' in word) failed = word.failed;
    else listens(word.serving);
  });
  const over = new AbortController();
  const gone = new Promise<Problem>((resolve) => {
    child.once('error', ({ message }) => resolve({ message, isHopeless: false }));
    child.once('close', (code, by) => resolve(ended(code, by, failed)));
  });
  const stop = async () => {
    child.kill('SIGTERM');
    await clock.sleep(graceMs, over.signal).then(
      () => child.kill('SIGKILL'),
      () => undefined,
    );
  };
  const stopping = () => void stop();
  if (signal.aborted) stopping();
  signal.addEventListener('abort', stopping, { once: true });
  try {
    return await gone;
  } finally {
    signal.removeEventListener('abort', stopping);
    over.abort();
  }
}

function ended(code: number | null, by: NodeJS.Signals | null, failed: string | undefined): Problem {
  const isHopeless = code === exitCodes.config || code === exitCodes.usage;
  if (failed !== undefined) return { message: failed.slice(0, LONGEST_MESSAGE), isHopeless };
  if (code === exitCodes.done) return { message: 'it was told to end', isHopeless };
  const how = by === null ? `with exit code ${code}` : `by ${by}`;
  return { message: `it was ended ${how}; the log may say why`, isHopeless };
}

function ownProgram(): readonly string[] {
  return [process.execPath, ...programArgs(programFile('../cli', import.meta.url)), 'serve'];
}
