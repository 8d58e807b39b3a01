/** Modules of the sources in a process of their own, which runs a script that imports them. */

import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { compiledFolder } from './program-file.ts';

/** Before `-e` and the script. */
export const nodeOfSources = ['--input-type=module'];

/** @param file such as `store.ts`, one of those that `compiled.ts` names. */
export function sourceAddress(file: string): string {
  return pathToFileURL(join(compiledFolder(), 'dist/src', file.replace(/ts$/, 'js'))).href;
}
