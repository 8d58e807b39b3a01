#!/usr/bin/env node
/** The program: the command line of this process, its signals and its settings. */

import { systemClock } from './clock.ts';
import { readDotEnv } from './dot-env.ts';
import { Failure } from './errors.ts';
import { main } from './main.ts';
import { openStderr, openStdout } from './outputs.ts';

process.umask(0o077);
const stop = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const)
  process.once(name, () => stop.abort(new Error(`stopped by ${name}`)));
if (process.channel) {
  process.once('disconnect', () => stop.abort(new Error('the process that started this one has ended')));
  // It keeps no command from ending.
  process.channel.unref();
}
const stderr = openStderr();

process.exitCode = await main(process.argv.slice(2), {
  environment: readEnvironment(),
  clock: systemClock,
  random: Math.random,
  stdout: openStdout(),
  stderr,
  signal: stop.signal,
  ...(process.send && { tellParent: (word) => void process.send?.(word as object) }),
});

/** What is set in the environment goes before what is set in `.env`. */
function readEnvironment(): Record<string, string | undefined> {
  try {
    return { ...readDotEnv('.env'), ...process.env };
  } catch (thrown) {
    if (!(thrown instanceof Failure)) throw thrown;
    stderr.write(`market-mirror: ${thrown.message}\n`);
    process.exit(thrown.exitCode);
  }
}
