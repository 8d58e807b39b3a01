/** The path of a unix socket, which must be short. */

import { createHash } from 'node:crypto';
import { existsSync, lstatSync, mkdirSync, realpathSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { generalEnvironment } from './environment.ts';
import { Failure } from './errors.ts';

/** Bytes that fit everywhere: Linux takes 107, macOS and the BSDs 103. */
const LONGEST_PATH = 103;

export function fitsSocket(path: string): boolean {
  return Buffer.byteLength(path) <= LONGEST_PATH;
}

/**
 * `<folder>/<name>`, or, where that is too long, `$XDG_RUNTIME_DIR/market-mirror-<uid>/<hash>.sock`, or the same under the temporary
 * folder.
 * @throws Failure `config` where no path is short enough, or the folder of this user is not private.
 */
export function socketPath(folder: string, name: string): string {
  const wanted = join(realpathSync(folder), name);
  if (fitsSocket(wanted)) return wanted;
  const hash = createHash('sha256').update(wanted).digest('hex').slice(0, 16);
  const short = [generalEnvironment()['XDG_RUNTIME_DIR'], tmpdir(), '/tmp']
    .filter((base) => base !== undefined)
    .filter((base) => existsSync(base))
    .map((base) => join(base, `market-mirror-${process.getuid?.()}`, `${hash}.sock`))
    .find(fitsSocket);
  if (!short) throw new Failure('config', `MIRROR_DIR: ${folder} is too long a path for a socket`);
  ownFolder(dirname(short));
  return short;
}

/** Makes a private folder. Where others may write, one of theirs may be there already. */
function ownFolder(folder: string): void {
  try {
    mkdirSync(folder, { mode: 0o700 });
  } catch (cause) {
    if (!existsSync(folder)) throw new Failure('config', `${folder}: cannot be created`, { cause });
  }
  const found = lstatSync(folder);
  if (!found.isDirectory() || found.uid !== process.getuid?.() || (found.mode & 0o077) !== 0)
    throw new Failure(
      'config',
      `${folder}: is not a private folder of this user; remove it, or set REDIS_URL`,
    );
}
