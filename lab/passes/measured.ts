/** A program from its start to its end, and what it took. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Figures } from './gauge.ts';
import { program } from './programs.ts';

export type Measured = Figures & { seconds: number; stdout: string };

/** Runs a program of Node.js, measured from within, too. @throws what it said where it failed. */
export async function measureNode(args: readonly string[], environment = {}): Promise<Measured> {
  return await measure([process.execPath, '--import', await program('gauge'), ...args], environment);
}

/** Runs a program that leaves its figures in the file that `LAB_FIGURES` names. */
export async function measure(
  [command = '', ...args]: readonly string[],
  environment: Record<string, string> = {},
): Promise<Measured> {
  const folder = mkdtempSync(join(tmpdir(), 'market-mirror-figures-'));
  const file = join(folder, 'figures.json');
  try {
    const env = { PATH: process.env['PATH'], HOME: folder, LAB_FIGURES: file, ...environment };
    const began = performance.now();
    const child = spawn(command, args, { env, cwd: folder });
    const [stdout, stderr, code] = await Promise.all([
      textOf(child.stdout),
      textOf(child.stderr),
      endOf(child),
    ]);
    const seconds = (performance.now() - began) / 1_000;
    if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${stderr}${stdout}`);
    return { seconds, stdout, ...(JSON.parse(readFileSync(file, 'utf8')) as Figures) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function endOf(child: ChildProcess): Promise<unknown> {
  const [code, signal] = await once(child, 'exit');
  return code ?? signal;
}

async function textOf(stream: NodeJS.ReadableStream): Promise<string> {
  let text = '';
  for await (const chunk of stream) text += String(chunk);
  return text;
}
