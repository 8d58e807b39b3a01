/** Programs as a service manager keeps them: started again whenever they end, until they are asked to stay ended. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { cliFile } from '../../../test/helpers/cli.ts';
import { processesIn, signal } from './processes.ts';

type ProgramParts = {
  /** Its working folder. */
  folder: string;
  /** Called again for each start. */
  environment: () => Record<string, string>;
  /** Gets each line of its log. */
  hear: (line: string) => void;
};

export type Program = ReturnType<typeof keepProgram>;

/** The exit code of a bug. */
const BUG = 70;

const RESTART_MS = 100;
const PATIENCE_MS = 20_000;

/** @param args of `market-mirror`. */
export function keepProgram(args: readonly string[], { folder, environment, hear }: ProgramParts) {
  const ends = new Map<string, number>();
  const bugs: string[] = [];
  let starts = 0;
  let child: ChildProcess | undefined;
  let isWanted = false;
  let isKilled = false;

  function start(): void {
    isWanted = true;
    if (child) return;
    starts += 1;
    isKilled = false;
    const started = spawn(process.execPath, [cliFile(), ...args], {
      cwd: folder,
      env: environment(),
      stdio: ['ignore', 'pipe', 'pipe'],
      // Ctrl-C is for the campaign.
      detached: true,
    });
    child = started;
    let lastLine = '';
    for (const stream of [started.stdout, started.stderr])
      createInterface({ input: stream }).on('line', (line) => {
        lastLine = line;
        hear(line);
      });
    // Its last line comes before its streams are closed.
    started.once('close', (code) => {
      if (code === BUG) bugs.push(lastLine);
    });
    started.once('exit', (code, by) => {
      child = undefined;
      if (!isKilled && isWanted) count(ends, code === null ? String(by) : `exit ${code}`);
      if (isWanted) setTimeout(() => isWanted && start(), RESTART_MS);
    });
  }

  /** Asks it to end, and keeps it ended. */
  async function end(): Promise<void> {
    isWanted = false;
    const ending = child;
    if (!ending) return;
    const ended = once(ending, 'exit');
    signal(ending.pid, 'SIGTERM');
    signal(ending.pid, 'SIGCONT');
    const late = setTimeout(() => signal(ending.pid, 'SIGKILL'), PATIENCE_MS);
    await ended;
    clearTimeout(late);
  }

  return {
    pid: () => child?.pid,
    /** @returns whether there was one to be killed. */
    kill(): boolean {
      isKilled = true;
      return signal(child?.pid, 'SIGKILL');
    },
    start,
    end,
    async restart() {
      await end();
      start();
    },
    starts: () => starts,
    /** How often it ended by itself, by exit code. */
    ends,
    /** The last line of the log before each end with the exit code of a bug. Readers take them out. */
    bugs,
  };
}

export type Daemon = ReturnType<typeof keepDaemon>;

/** @param log the file that its log goes to. */
export function keepDaemon({
  mirrorDir,
  log,
  ...parts
}: Omit<ProgramParts, 'hear'> & { mirrorDir: string; log: string }) {
  const file = createWriteStream(log, { flags: 'a' });
  const waiting = new Set<() => void>();
  let sparing = 0;

  function hear(line: string): void {
    file.write(`${line}\n`);
    if (/"walk (complete|proves nothing)"/.test(line)) for (const wake of waiting) wake();
  }

  const program = keepProgram(['start'], { ...parts, hear });
  return {
    ...program,
    /** The server that it runs for itself, also where it was left behind by one that was killed. */
    redisPid: () => processesIn(mirrorDir).find(({ name }) => /^(redis|valkey)-server$/.test(name))?.pid,
    /** Random kills spare the daemon until `work` has ended. */
    async spared<T>(work: Promise<T>): Promise<T> {
      sparing += 1;
      return await work.finally(() => {
        sparing -= 1;
      });
    },
    isSpared: () => sparing > 0,
    /** Resolves at the end of the next walk; @returns false where none ended within `ms`. */
    async walked(ms: number): Promise<boolean> {
      const over = new AbortController();
      const walk = new Promise<true>((resolve) => {
        const wake = () => {
          waiting.delete(wake);
          resolve(true);
        };
        waiting.add(wake);
      });
      const late = delay(ms, false as const, { signal: over.signal });
      late.catch(() => undefined);
      const came = await Promise.race([walk, late]);
      over.abort();
      return came;
    },
  };
}

export function count(tally: Map<string, number>, name: string): void {
  tally.set(name, (tally.get(name) ?? 0) + 1);
}
