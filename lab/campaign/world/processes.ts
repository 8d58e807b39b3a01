/** Processes that work in a folder, as Linux shows them. */

import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

type Process = { pid: number; name: string; folder: string };

/** Those whose working folder is this one or below it; a zombie does not count. */
export function processesIn(folder: string): Process[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map((name) => look(Number(name)))
    .filter((found) => found !== undefined)
    .filter((found) => found.folder === folder || found.folder.startsWith(`${folder}/`));
}

function look(pid: number): Process | undefined {
  try {
    const [, name = '', state] = /\((.*)\) (\S)/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
    return state === 'Z' ? undefined : { pid, name, folder: readlinkSync(`/proc/${pid}/cwd`) };
  } catch {
    // It ended meanwhile, or belongs to another user.
    return undefined;
  }
}

/** @returns false where there is no such process any more. */
export function signal(pid: number | undefined, name: NodeJS.Signals): boolean {
  if (!pid) return false;
  try {
    return process.kill(pid, name);
  } catch {
    return false;
  }
}
