/** The folder of the private Redis, and who answers on a socket. */

import { chmodSync, mkdirSync } from 'node:fs';
import { connect } from 'node:net';
import { Failure } from '../errors.ts';

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
