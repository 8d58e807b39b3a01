/** Where the files of a lake lie: a folder, or a part of a bucket. Paths are those below it, with `/`. */

import { Failure } from '../../errors.ts';
import type { Spool, Spooled } from './spool.ts';

export type Storage = {
  /** For people; nothing secret. */
  shown: string;
  /** What lies in a folder, by name; empty where there is none. */
  list(folder: string): Promise<Listed>;
  /** Undefined where there is no such file. */
  read(path: string): Promise<Buffer | undefined>;
  /** Puts a file there whole, unless there is one. @returns it; undefined where there was one. */
  put(path: string, make: (spool: Spool) => void): Promise<Spooled | undefined>;
  /** The same, whatever is there. */
  replace(path: string, make: (spool: Spool) => void): Promise<void>;
  remove(path: string): Promise<void>;
  close(): Promise<void>;
};

export type Listed = { folders: string[]; files: string[] };

export async function readJson<T>(storage: Storage, path: string): Promise<T | undefined> {
  const text = (await storage.read(path))?.toString('utf8');
  try {
    return text === undefined ? undefined : (JSON.parse(text) as T);
  } catch {
    throw new Failure('disk', `${storage.shown}: ${path} is damaged, it holds no JSON: remove it`);
  }
}

/** To be made of plain data, for `put` and `replace`. */
export const json = (data: unknown) => (spool: Spool) => spool.write(`${JSON.stringify(data, null, 2)}\n`);
