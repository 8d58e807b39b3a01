/** A mirror to read from, and the reading commands as a user on a terminal or in a pipe meets them. */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Readable } from 'node:stream';
import type { Command } from 'commander';
import { isoTime } from '../../src/base/clock.ts';
import { Failure } from '../../src/base/errors.ts';
import type { Context } from '../../src/commands/context.ts';
import type { Bench } from '../helpers/mirror-bench.ts';

export type Ran = { code: number; stdout: string; stderr: string };

type Terminal = { columns?: number; stdin?: string; signal?: AbortSignal };

/** Runs one command in this process, on a terminal where `columns` are given. */
export async function onTerminal(
  make: (context: Context, stdin: Readable) => Command,
  args: string[],
  { dir, clock }: Pick<Bench, 'dir' | 'clock'>,
  { columns, stdin = '', signal = new AbortController().signal }: Terminal = {},
): Promise<Ran> {
  const ran = { code: 0, stdout: '', stderr: '' };
  const context: Context = {
    environment: { MIRROR_DIR: dir },
    clock,
    random: () => 0.5,
    stdout: {
      write(text) {
        ran.stdout += text;
      },
      ...(columns === undefined ? {} : { isTTY: true, columns }),
    },
    stderr: {
      write(text) {
        ran.stderr += text;
      },
    },
    signal,
    hint: (text) => text,
    exit(code) {
      ran.code = code;
    },
  };
  try {
    const command = make(context, Readable.from([stdin])).exitOverride();
    await command.parseAsync(args, { from: 'user' });
  } catch (thrown) {
    if (!(thrown instanceof Failure)) throw thrown;
    ran.code = thrown.exitCode;
    ran.stderr += `${thrown.message}\n`;
  }
  return ran;
}

/** What no reading may change. */
export function digestOf(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex');
}

/** Publishes another snapshot, so that the next walk looks at all of it. */
export function publish({ clock, upstream }: Bench): void {
  clock.advance(60_000);
  upstream('ai-signals').generatedAt = isoTime(clock.now());
}

export const ndjson = (text: string) =>
  text
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Record<string, unknown>);
