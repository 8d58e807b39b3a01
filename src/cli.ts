#!/usr/bin/env node
/** The program: the command line of this process, its signals, its settings, and its standard output and error. */

import { createWriteStream, fstatSync } from 'node:fs';
import { systemClock } from './base/clock.ts';
import { diskTrouble } from './base/disk.ts';
import { exitCodes, Failure } from './base/errors.ts';
import { main, startedAs } from './commands.ts';
import { readDotEnv } from './config/dot-env.ts';

const STDOUT = 1;

process.umask(0o077);
const stop = new AbortController();
// A demo ends with its window and leaves nothing; whatever else runs may have been told to outlive it (nohup).
const hangup = process.argv[2] === 'demo' ? (['SIGHUP'] as const) : [];
for (const name of ['SIGINT', 'SIGTERM', ...hangup] as const)
  process.once(name, () => stop.abort(new Error(`stopped by ${name}`)));
if (process.channel) {
  process.once('disconnect', () => stop.abort(new Error('the process that started this one has ended')));
  // It keeps no command from ending.
  process.channel.unref();
}
const stderr = openStderr();
const folder = workingFolder();

process.exitCode = await main(
  process.argv.slice(2),
  {
    environment: readEnvironment(),
    clock: systemClock,
    random: Math.random,
    stdout: openStdout(),
    stderr,
    signal: stop.signal,
    ...(process.send && { sendToParent: (word) => void process.send?.(word as object) }),
  },
  // A program of ours, not a person, started a child.
  process.send ? undefined : startedAs(process.argv[1] ?? '', folder, process.env),
);

function workingFolder(): string {
  try {
    return process.cwd();
  } catch {
    return refuse(new Failure('config', 'the working folder is gone: cd to one that exists'));
  }
}

/** What is set in the environment goes before what is set in `.env`. */
function readEnvironment(): Record<string, string | undefined> {
  try {
    return { ...readDotEnv('.env'), ...process.env };
  } catch (thrown) {
    if (!(thrown instanceof Failure)) throw thrown;
    return refuse(thrown);
  }
}

function refuse({ message, exitCode }: Failure): never {
  stderr.write(`market-mirror: ${message}\n`);
  process.exit(exitCode);
}

/** Where results go. A failed write ends the process: quietly where the reader has gone, else with 74. */
function openStdout(): NodeJS.WritableStream {
  // Of a file that the disk has no more room for, Node.js's own stream drops the rest without a word.
  const stdout = isFile(STDOUT) ? createWriteStream('', { fd: STDOUT, autoClose: false }) : process.stdout;
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    // A reader that has seen enough, such as `head`, is no failure.
    if (error.code === 'EPIPE') process.exit();
    const { code, advice } = diskTrouble(error) ?? { code: error.code, advice: 'see where it goes' };
    process.stderr.write(`market-mirror: standard output cannot be written (${code}): ${advice}\n`);
    process.exit(exitCodes.disk);
  });
  return stdout;
}

/** Where progress and failures go. Where it cannot be written, the exit code alone tells. */
function openStderr(): NodeJS.WriteStream {
  return process.stderr.on('error', () => undefined);
}

function isFile(descriptor: number): boolean {
  try {
    return fstatSync(descriptor).isFile();
  } catch {
    return false;
  }
}
