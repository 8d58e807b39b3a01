/** Our files that run as a process or a thread: compiled in a build, TypeScript in the sources. */

import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';

export type ProgramFile = {
  url: URL;
  /** The package that lets Node.js read it, where it is TypeScript. */
  loader?: 'tsx';
};

/** @param file relative to `starter`, without its extension. @param starter `import.meta.url` of the caller. */
export function programFile(file: string, starter: string): ProgramFile {
  const extension = extname(starter);
  const url = new URL(`${file}${extension}`, starter);
  return extension === '.ts' ? { url, loader: 'tsx' } : { url };
}

/** What Node.js is given to run it, beside its own path. */
export function programArgs({ url, loader }: ProgramFile): string[] {
  return [...(loader ? ['--import', import.meta.resolve(loader)] : []), fileURLToPath(url)];
}
