/** Certificate and key: read at the start, and again when their files change. */

import { statSync } from 'node:fs';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import { readTlsFiles, type TlsFiles } from '../../../config.ts';
import { Failure, toError } from '../../../errors.ts';

export type Pair = Pick<SecureContextOptions, 'cert' | 'key'>;

/** @throws Failure `config` where they cannot be read, or do not go together. */
export function readPair(files: TlsFiles): Pair {
  const pair = readTlsFiles(files);
  try {
    createSecureContext(pair);
    return pair;
  } catch (thrown) {
    const { message } = toError(thrown);
    throw new Failure(
      'config',
      `MIRROR_SERVE_TLS_CERT (${files.certFile}) and MIRROR_SERVE_TLS_KEY (${files.keyFile}) are no certificate and key that belong together: ${message}`,
    );
  }
}

/**
 * @param used which state of the files is in use.
 * @param use takes a new pair.
 * @param trouble is told why a new pair cannot be used, once for each reason; the old one stays in use.
 * @returns what looks whether the files have changed.
 */
export function followPair(
  files: TlsFiles,
  used: string,
  use: (pair: Pair) => void,
  trouble: (failure: Failure) => void,
): () => void {
  let [current, told] = [used, ''];
  return () => {
    const state = stateOf(files);
    if (state === current) return;
    try {
      use(readPair(files));
      [current, told] = [state, ''];
    } catch (thrown) {
      if (!(thrown instanceof Failure)) throw thrown;
      if (thrown.message !== told) trouble(thrown);
      told = thrown.message;
    }
  };
}

/**
 * To be asked before they are read: what changes meanwhile is read again. Follows links, by which those who renew
 * certificates often change both files at once.
 */
export function stateOf({ certFile, keyFile }: TlsFiles): string {
  return [certFile, keyFile].map(stateOfFile).join(', ');
}

function stateOfFile(file: string): string {
  try {
    const { dev, ino, size, mtimeMs } = statSync(file);
    return [dev, ino, size, mtimeMs].join(' ');
  } catch (thrown) {
    return toError(thrown).message;
  }
}
