/** The daemon as a service manager keeps it: started again whenever it ends, until it is asked to stay ended. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { cliFile } from '../../../test/helpers/cli.ts';
import { processesIn, signal } from './processes.ts';

export type DaemonParts = {
  /** Its working folder. */
  folder: string;
  mirrorDir: string;
  /** Called again for each start. */
  environment: () => Record<string, string>;
  /** The file that its log goes to. */
  log: string;
};

export type Daemon = {
  pid(): number | undefined;
  /** The server that it runs for itself, also where it was left behind by one that was killed. */
  redisPid(): number | undefined;
  signal(name: NodeJS.Signals): boolean;
  /** @returns whether there was one to be killed. */
  kill(name?: NodeJS.Signals): boolean;
  start(): void;
  /** Asks it to end, and keeps it ended. @returns its exit code, null where it had to be killed. */
  end(): Promise<number | null>;
  restart(): Promise<void>;
  /** Random kills spare the daemon until `work` has ended. */
  spared<T>(work: Promise<T>): Promise<T>;
  isSpared(): boolean;
  /** Resolves at the end of the next walk; @returns false where none ended within `ms`. */
  walked(ms: number): Promise<boolean>;
  /** How often it was started, how many walks it ended, how many lines it wrote. */
  counts: { starts: number; walks: number; lines: number };
  /** How often it ended by itself, by exit code. */
  ends: Map<string, number>;
  /** The last line of the log before each end with the exit code of a bug. Readers take them out. */
  bugs: string[];
};

/** The exit code of a bug. */
const BUG = 70;

const RESTART_MS = 100;
const PATIENCE_MS = 20_000;

export function keepDaemon({ folder, mirrorDir, environment, log }: DaemonParts): Daemon {
  const file = createWriteStream(log, { flags: 'a' });
  const counts = { starts: 0, walks: 0, lines: 0 };
  const ends = new Map<string, number>();
  const bugs: string[] = [];
  const waiting = new Set<() => void>();
  let child: ChildProcess | undefined;
  let isWanted = false;
  let isKilled = false;
  let sparing = 0;

  function start(): void {
    isWanted = true;
    if (child) return;
    counts.starts += 1;
    isKilled = false;
    // A core dump would hold the key, which is in the memory of the process.
    const command = ['-c', 'ulimit -c 0; exec "$@"', 'sh', process.execPath, cliFile(), 'start'];
    const started = spawn('sh', command, {
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

  function hear(line: string): void {
    file.write(`${line}\n`);
    counts.lines += 1;
    if (!/"walk (complete|proves nothing)"/.test(line)) return;
    counts.walks += 1;
    for (const wake of waiting) wake();
  }

  const daemon: Daemon = {
    pid: () => child?.pid,
    redisPid: () => processesIn(mirrorDir).find(({ name }) => /^(redis|valkey)-server$/.test(name))?.pid,
    signal: (name) => signal(child?.pid, name),
    kill(name = 'SIGKILL') {
      isKilled = true;
      return daemon.signal(name);
    },
    start,
    async end() {
      isWanted = false;
      const ending = child;
      if (!ending) return 0;
      const ended = once(ending, 'exit');
      daemon.signal('SIGTERM');
      daemon.signal('SIGCONT');
      const late = setTimeout(() => signal(ending.pid, 'SIGKILL'), PATIENCE_MS);
      await ended;
      clearTimeout(late);
      return ending.exitCode;
    },
    async restart() {
      await daemon.end();
      start();
    },
    async spared(work) {
      sparing += 1;
      return await work.finally(() => {
        sparing -= 1;
      });
    },
    isSpared: () => sparing > 0,
    async walked(ms) {
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
    counts,
    ends,
    bugs,
  };
  return daemon;
}

export function count(tally: Map<string, number>, name: string): void {
  tally.set(name, (tally.get(name) ?? 0) + 1);
}
