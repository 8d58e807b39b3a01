#!/usr/bin/env node
/** The program: the command line of this process, its signals and its settings. */

import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { systemClock } from './clock.ts';
import { exitCodes } from './errors.ts';
import { main } from './main.ts';
import { openStderr, openStdout } from './outputs.ts';

process.umask(0o077);
const stop = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const)
  process.once(name, () => stop.abort(new Error(`stopped by ${name}`)));
const stderr = openStderr();

process.exitCode = await main(process.argv.slice(2), {
  environment: { ...readDotEnv(), ...process.env },
  clock: systemClock,
  random: Math.random,
  stdout: openStdout(),
  stderr,
  signal: stop.signal,
});

/** The settings of a `.env` file in the working folder; the environment itself goes before them. */
function readDotEnv(): Record<string, string | undefined> {
  try {
    return parseEnv(readFileSync('.env', 'utf8'));
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException;
    if (code === 'ENOENT') return {};
    process.stderr.write(`market-mirror: .env cannot be read (${code}): mend or remove it\n`);
    process.exit(exitCodes.config);
  }
}
