/** Where the private Redis listens, and who answers there. */

import { createHash } from 'node:crypto';
import { chmodSync, existsSync, lstatSync, mkdirSync, realpathSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Failure } from '../errors.ts';

/** Bytes of a socket's path: 107 on Linux, 103 on macOS and the BSDs. */
const LONGEST_PATH = 103;
const PATIENCE_MS = 1_000;

/** Creates the folder for us alone, or makes it so. */
export function privateFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    chmodSync(folder, 0o700);
  } catch (cause) {
    throw new Failure('disk', `${folder}: cannot be made a private folder of this user`, { cause });
  }
}

/**
 * `<home>/redis.sock`; where that is too long for a socket, a name that stands for `home` in a folder of this
 * user: `$XDG_RUNTIME_DIR/market-mirror-<uid>/<hash of home>.sock`, else the same under the temporary folder.
 */
export function socketPath(home: string): string {
  const wanted = join(realpathSync(home), 'redis.sock');
  if (fits(wanted)) return wanted;
  const name = `${createHash('sha256').update(wanted).digest('hex').slice(0, 16)}.sock`;
  const short = [process.env['XDG_RUNTIME_DIR'], tmpdir(), '/tmp']
    .filter((base) => base !== undefined)
    .filter((base) => existsSync(base))
    .map((base) => join(base, `market-mirror-${process.getuid?.()}`, name))
    .find(fits);
  if (!short) throw new Failure('config', `MIRROR_DIR: ${home} is too long a path for a socket`);
  ownFolder(dirname(short));
  return short;
}

function fits(path: string): boolean {
  return Buffer.byteLength(path) <= LONGEST_PATH;
}

/** In a folder that others write to, somebody may have been there first. */
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

/** `ready`: a Redis that takes commands. `busy`: somebody listens, but does not. `nobody`: nobody listens. */
export type Answer = 'ready' | 'busy' | 'nobody';

export function ping(socket: string): Promise<Answer> {
  return new Promise((resolve) => {
    const connection = connect({ path: socket });
    const answer = (found: Answer) => {
      connection.destroy();
      resolve(found);
    };
    let text = '';
    connection.setTimeout(PATIENCE_MS, () => answer('busy'));
    connection.once('connect', () => connection.write('PING\r\n'));
    connection.on('data', (data) => {
      text += data;
      if (text.includes('\n')) answer(text.startsWith('+PONG') ? 'ready' : 'busy');
    });
    connection.once('end', () => answer('busy'));
    connection.once('error', (error: NodeJS.ErrnoException) =>
      answer(error.code === 'ECONNREFUSED' || error.code === 'ENOENT' ? 'nobody' : 'busy'),
    );
  });
}
