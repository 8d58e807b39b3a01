/** Stands in for `src/base/program-file.ts` in tests: what the sources start as a process or a thread has been compiled before. */

import { join, relative } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { type ProgramFile, programFile as sourceFile } from '../../src/base/program-file.ts';

export { programArgs } from '../../src/base/program-file.ts';

/** Names the folder in the environment. */
export const COMPILED = 'MARKET_MIRROR_TEST_COMPILED';
const root = fileURLToPath(new URL('../..', import.meta.url));

export function programFile(file: string, starter: string): ProgramFile {
  const source = relative(root, fileURLToPath(sourceFile(file, starter).url));
  return { url: pathToFileURL(join(compiledFolder(), 'dist', source.replace(/ts$/, 'js'))) };
}

/** It holds `dist/`, and what that needs beside it. */
export function compiledFolder(): string {
  const folder = process.env[COMPILED];
  if (!folder) throw new Error('what tests start is compiled by vitest.config.ts');
  return folder;
}
