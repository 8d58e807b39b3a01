/** A child process that cannot outlive this one. */

import { type ChildProcess, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import type { Environment } from './environment.ts';
import { Failure } from './errors.ts';

type ChildOptions = {
  /** All that the child learns of our environment: see `generalEnvironment`. */
  env: Environment;
  cwd?: string;
  /** Whether it writes to us, its results go nowhere and its errors to our standard error, or both go nowhere. */
  output: 'pipe' | 'errors' | 'none';
  /** What it reads from its standard input; nothing unless given. */
  input?: string;
  /** Open a channel of Node.js to it, which carries structured clones. */
  ipc?: boolean;
  limits?: ChildLimits;
};

/** What the kernel lets the child have. */
export type ChildLimits = {
  /** Heaps, stacks and all other memory that is neither code nor a file. Only Linux holds a process to it. */
  readonly dataBytes: number;
  /** Of each file that it writes: a write beyond that fails with EFBIG. */
  readonly fileBytes: number;
};

/** Its standard output and error can be read where the output is `pipe`. */
type Child = ChildProcess & { readonly stdout: Readable; readonly stderr: Readable };

export type StartedChild = {
  child: Child;
  /** From now on the child may outlive us. */
  release(): void;
  /** Sends the signal to the child and to all that it has started. @returns false where all of these have ended. */
  signalGroup(signal: NodeJS.Signals | 0): boolean;
};

/**
 * The program replaces this shell, in a process group of its own, which our Ctrl-C does not reach. A watcher reads a pipe whose other
 * end is ours. When we die, kill -9 included, the kernel closes that end, and the watcher ends the group. A line on the pipe ends the
 * watcher alone. As a member of the group it keeps the group's number from being given to others.
 */
const GUARD = `
(trap '' HUP INT TERM; read -r line <&4 || { kill -TERM -$$; sleep 2; kill -KILL -$$; }) 3<&- >/dev/null 2>&1 &
exec "$@" 4<&-`;

/** A lower limit that is set already stays. `ulimit` counts data in kilobytes, and files in blocks of 512 bytes. */
function limitScript({ dataBytes, fileBytes }: ChildLimits): string {
  const set = (option: string, value: number) =>
    `(ulimit -${option} ${value}) 2>/dev/null && ulimit -${option} ${value}\n`;
  return `${set('c', 0)}${set('d', Math.floor(dataBytes / 1_024))}${set('f', Math.floor(fileBytes / 512))}trap '' XFSZ`;
}

/** Starts `program`, which has two seconds from SIGTERM on when this process dies. */
export function startChild(
  program: readonly string[],
  { env, cwd, output, input, ipc = false, limits }: ChildOptions,
): StartedChild {
  const streams = {
    pipe: ['pipe', 'pipe'],
    errors: ['ignore', 'inherit'],
    none: ['ignore', 'ignore'],
  } as const;
  const script = `${limits ? limitScript(limits) : ''}${GUARD}`;
  const child = spawn('/bin/sh', ['-c', script, 'sh', ...program], {
    env,
    ...(cwd !== undefined && { cwd }),
    stdio: [input === undefined ? 'ignore' : 'pipe', ...streams[output], ipc ? 'ipc' : 'ignore', 'pipe'],
    serialization: 'advanced',
    detached: true,
  });
  // Without file descriptors, Node.js makes no streams, and tells the error by an event later.
  child.on('error', () => undefined);
  if (child.stdio === undefined)
    throw new Failure('incomplete', 'no process can be started: too many open files');
  const pipe = child.stdio[4] as Writable;
  pipe.on('error', () => undefined);
  child.once('exit', release);
  // It may end without having read all of it.
  child.stdin?.on('error', () => undefined).end(input);

  function release(): void {
    if (!pipe.writableEnded) pipe.end('ended\n');
  }

  function signalGroup(signal: NodeJS.Signals | 0): boolean {
    try {
      return child.pid !== undefined && process.kill(-child.pid, signal);
    } catch {
      return false;
    }
  }

  return { child: child as Child, release, signalGroup };
}
