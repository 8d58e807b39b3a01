/**
 * Work off the main thread: a task of `worker-main.ts`, called with plain data. A thread does our own work. A process runs the SQL of
 * users: it can be killed within a statement, and the kernel bounds it. Both speak the same protocol.
 */

import type { EventEmitter } from 'node:events';
import { Worker as NodeThread, parentPort, workerData } from 'node:worker_threads';
import { type ChildLimits, startChild } from './child.ts';
import { systemClock } from './clock.ts';
import { generalEnvironment } from './environment.ts';
import { asFailure, Failure, type FailureSent, receivedFailure, sentFailure } from './errors.ts';
import { type ProgramFile, programArgs, programFile } from './program-file.ts';

/** What `worker-main.ts` can do. */
export type TaskName = 'lake' | 'query' | 'quick' | 'served' | 'ship';

/** Arguments, pieces and result are copied; a thrown error arrives as a Failure. */
export type Task<Args, Result, Piece = never> = (
  args: Args,
  channel: TaskChannel<Piece>,
) => Result | Promise<Result>;

export type TaskChannel<Piece> = {
  /** Sends a part of the answer. Resolves when the caller asks for the next one. */
  send(piece: Piece): Promise<void>;
  /** Says that the task is at work, once a second at most. */
  beat(): void;
};

/** A thread or process for one task: one call at a time. */
export type Worker<Args, Result, Piece = never> = {
  /**
   * Yields the pieces that the task sends, and returns its result. The task waits until the next piece is asked for.
   * @param silence ends the worker where it has said nothing for so long.
   * @throws Failure that the task threw, or that says how the worker ended.
   */
  call(
    args: Args,
    silence?: { readonly ms: number; readonly failure: Failure },
  ): AsyncGenerator<Piece, Result, void>;
  /** False while a call is under way, and once the worker has ended. */
  isFree(): boolean;
  /** @param why what the present call and all later ones fail with. */
  end(why?: Failure): void;
};

type Request = { args: unknown } | 'more';
type Response = { piece: unknown } | { result: unknown } | FailureSent;

/** Sent where there is nothing else to send: so a task at work is told from one that hangs. */
const BEAT = 'beat';
const BEAT_MS = 1_000;

/** Limits of a process. What it writes to its standard error is dropped, since users may make it abort often. */
export type ProcessLimits = ChildLimits & {
  /** The message of its Failure where memory was short. */
  readonly outOfMemory: string;
};

/** The signals by which Node.js ends itself where it cannot get memory. */
const ABORTS: readonly (string | null)[] = ['SIGABRT', 'SIGTRAP', 'SIGILL', 'SIGSEGV', 'SIGBUS'];

/** Starts a process, which ends with this one. @param name such as `the process of the query`, for its Failures. */
export function startProcess<Args, Result, Piece = never>(
  task: TaskName,
  name: string,
  limits?: ProcessLimits,
): Worker<Args, Result, Piece> {
  const program = [process.execPath, ...programArgs(programFile('../worker-main', import.meta.url)), task];
  const { child } = startChild(program, {
    env: generalEnvironment(),
    output: limits ? 'none' : 'errors',
    ipc: true,
    ...(limits && { limits }),
  });
  return workerOn(child, {
    post: (request) => void child.send(request),
    kill: () => void child.kill('SIGKILL'),
    howEnded: (code, signal) =>
      limits && ABORTS.includes(signal) ? limits.outOfMemory : `${name} ended (${signal ?? code})`,
  });
}

/** Started by the first call, and anew by the one after a failure. */
export type Thread<Args, Result> = {
  /** One call at a time. @throws Failure as `Worker` does. */
  call(args: Args): Promise<Result>;
  close(): void;
};

/**
 * @param name such as `the thread that ships`, for its Failures.
 * @param main where the tasks are; that of a test may be another.
 */
export function threadOnDemand<Args, Result>(
  task: string,
  name: string,
  main: ProgramFile = programFile('../worker-main', import.meta.url),
): Thread<Args, Result> {
  const closed = new Failure('incomplete', `${name} has ended`);
  let worker: Worker<Args, Result> | undefined;
  let isClosed = false;
  return {
    async call(args) {
      if (isClosed) throw closed;
      worker ??= startThread(task, name, main);
      try {
        const { value } = await worker.call(args).next();
        return value;
      } catch (thrown) {
        // The error may lie in what the thread has open: the next call gets a new one.
        worker.end();
        worker = undefined;
        throw asFailure(thrown);
      }
    },
    close() {
      isClosed = true;
      worker?.end(closed);
    },
  };
}

/** The process is kept alive by a call, not by the thread. */
function startThread<Args, Result>(
  task: string,
  name: string,
  { url, loader }: ProgramFile,
): Worker<Args, Result> {
  const thread = new NodeThread(loader ? fromSource(url) : url, { workerData: task });
  return workerOn(thread, {
    post: (request) => thread.postMessage(request),
    kill: () => void thread.terminate(),
    howEnded: () => `${name} has ended`,
    hold: (isCalled) => (isCalled ? thread.ref() : thread.unref()),
  });
}

/** Loads the TypeScript loader first: Node.js's flags load it in the main thread alone. */
function fromSource(file: URL): URL {
  const loader = import.meta.resolve('tsx/esm/api');
  return new URL(
    `data:text/javascript,import { register } from '${loader}'; register(); await import('${file}');`,
  );
}

type Carrier = {
  post(request: Request): void;
  kill(): void;
  howEnded(code: number | null, signal: string | null): string;
  /** Called when a call begins, for which this process must stay alive, and when it ends. */
  hold?(isCalled: boolean): void;
};

/** @param events `message`, `error` and `exit`, which threads and processes share. */
function workerOn<Args, Result, Piece>(
  events: EventEmitter,
  { post, kill, howEnded, hold = () => undefined }: Carrier,
): Worker<Args, Result, Piece> {
  let waiting: { resolve(response: Response): void; reject(reason: Failure): void } | undefined;
  let silenceTimer: NodeJS.Timeout | undefined;
  let ended: Failure | undefined;
  let isFree = true;
  const fail = (reason: Failure) => {
    ended ??= reason;
    waiting?.reject(ended);
  };
  const end = (why = new Failure('incomplete', 'stopped')) => {
    fail(why);
    kill();
  };
  events.on('message', (said: Response | typeof BEAT) => {
    silenceTimer?.refresh();
    if (said !== BEAT) waiting?.resolve(said);
  });
  events.on('error', (thrown) => fail(asFailure(thrown)));
  events.on('exit', (code: number | null, signal: string | null) =>
    fail(new Failure('incomplete', howEnded(code, signal))),
  );

  async function exchange(request: Request): Promise<Exclude<Response, FailureSent>> {
    if (ended) throw ended;
    isFree = false;
    hold(true);
    try {
      const response = await new Promise<Response>((resolve, reject) => {
        waiting = { resolve, reject };
        post(request);
      });
      isFree = !('piece' in response);
      if ('failed' in response) throw receivedFailure(response);
      return response;
    } finally {
      hold(false);
    }
  }

  async function* call(
    args: Args,
    silence?: { ms: number; failure: Failure },
  ): AsyncGenerator<Piece, Result, void> {
    for (let request: Request = { args }; ; request = 'more') {
      if (silence) silenceTimer = setTimeout(() => end(silence.failure), silence.ms);
      const response = await exchange(request).finally(() => clearTimeout(silenceTimer));
      if ('result' in response) return response.result as Result;
      yield response.piece as Piece;
    }
  }

  return { call, isFree: () => isFree && ended === undefined, end };
}

/** Runs in the thread or process: does the task that it was started for, one call after the other. */
export function answerCalls(
  tasks: Readonly<Record<string, () => Promise<Task<never, unknown, never>>>>,
): void {
  const name = parentPort ? (workerData as string) : (process.argv[2] ?? '');
  // Loading begins before the first call, which gets an error of it.
  const loaded = tasks[name]?.() ?? Promise.reject(new Error(`there is no task ${name}`));
  loaded.catch(() => undefined);
  let sendMore = () => {};
  let lastPostAt = 0;

  function post(response: Response | typeof BEAT): void {
    lastPostAt = systemClock.monotonic();
    if (parentPort) parentPort.postMessage(response);
    else process.send?.(response);
  }

  const channel: TaskChannel<unknown> = {
    send: (piece) =>
      new Promise((resolve) => {
        sendMore = resolve;
        post({ piece });
      }),
    beat() {
      if (systemClock.monotonic() - lastPostAt >= BEAT_MS) post(BEAT);
    },
  };

  async function answer(args: unknown): Promise<void> {
    let response: Response;
    try {
      const task = await loaded;
      response = { result: await task(args as never, channel) };
    } catch (thrown) {
      response = sentFailure(thrown);
    }
    post(response);
  }

  const hear = (request: Request) => (request === 'more' ? sendMore() : void answer(request.args));
  if (parentPort) parentPort.on('message', hear);
  else {
    process.on('message', hear);
    process.on('disconnect', () => process.exit());
    // Ctrl-C reaches both processes; the calling one decides.
    process.on('SIGINT', () => undefined);
  }
}
