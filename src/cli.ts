#!/usr/bin/env node
/** The command line: one command a file; every failure is one line and an exit code that scripts can read. */

import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { Command, CommanderError } from 'commander';
import { version } from './app.ts';
import { systemClock } from './clock.ts';
import type { Context } from './commands/context.ts';
import { modelApiCommand } from './commands/model-api.ts';
import { startCommand } from './commands/start.ts';
import { syncCommand } from './commands/sync.ts';
import { exitCodes, Failure, toError } from './errors.ts';

process.umask(0o077);
process.exitCode = await main(process.argv);

async function main(argv: string[]): Promise<number> {
  let exitCode: number = exitCodes.done;
  const stop = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM'] as const)
    process.once(name, () => stop.abort(new Error(`stopped by ${name}`)));
  const context: Context = {
    environment: { ...readDotEnv(), ...process.env },
    clock: systemClock,
    random: Math.random,
    stdout: process.stdout,
    stderr: process.stderr,
    signal: stop.signal,
    exit: (code) => {
      exitCode = code;
    },
  };
  try {
    await program(context).parseAsync(argv);
    return exitCode;
  } catch (thrown) {
    return report(thrown);
  }
}

function program(context: Context): Command {
  const program = new Command('market-mirror')
    .description(
      'A complete, current, provably complete copy of the market data API in a local SQLite database.',
    )
    .version(version())
    .showHelpAfterError('(add --help for what is possible)')
    .addCommand(syncCommand(context))
    .addCommand(startCommand(context))
    .addCommand(modelApiCommand());
  for (const command of [program, ...program.commands]) command.exitOverride();
  return program;
}

function report(thrown: unknown): number {
  // commander has already written its own message.
  if (thrown instanceof CommanderError) return thrown.exitCode === 0 ? exitCodes.done : exitCodes.usage;
  const failure = thrown instanceof Failure ? thrown : undefined;
  const { message, stack } = toError(thrown);
  process.stderr.write(`market-mirror: ${failure ? message : `a bug: ${message}`}\n`);
  if (!failure && process.env['LOG_LEVEL'] === 'debug') process.stderr.write(`${stack}\n`);
  return failure?.exitCode ?? exitCodes.bug;
}

/** The settings of a `.env` file in the working folder; the environment itself goes before them. */
function readDotEnv(): Record<string, string | undefined> {
  try {
    return parseEnv(readFileSync('.env', 'utf8'));
  } catch {
    return {};
  }
}
