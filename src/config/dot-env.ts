/** The `.env` file of the working folder. It decides where the key is sent and what is run, so nobody else may have written it. */

import { closeSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { Failure } from '../base/errors.ts';
import { whyForeign } from '../base/foreign.ts';
import { textIn } from '../base/text-file.ts';
import { isOurs } from '../config.ts';

/** Names that we or our libraries read. */
const isRead = (name: string) => isOurs(name) || name.startsWith('AWS_');

/** Names by which Node.js and the system's loader run code. */
const dangerous = /^(?:NODE|LD)_/;

/** The settings in the text of such a file. Editors of Windows begin it with a byte order mark, which is no letter of the first name. */
export const parseDotEnv = (text: string) => parseEnv(text.replace(/^\uFEFF/, ''));

/**
 * The settings of `file`, none where there is no such file.
 * @param user the id of the user who runs this; undefined where there are none.
 * @throws Failure `config` where others may write the file, it cannot be read or is not in UTF-8, and for names that run code.
 */
export function readDotEnv(file: string, user = process.getuid?.()): Record<string, string> {
  const bytes = readTrusted(file, user);
  if (bytes === undefined) return {};
  const given = Object.entries(parseDotEnv(textIn(bytes, file))).map(
    ([name, value = '']) => [name, value] as const,
  );
  const [bad] = given.find(([name]) => dangerous.test(name)) ?? [];
  if (bad !== undefined)
    throw new Failure(
      'config',
      `${file}: ${bad} changes how programs run: take it out, or set it in the environment`,
    );
  return Object.fromEntries(given.filter(([name]) => isRead(name)));
}

/** Looked at and read by one descriptor, so that it is the same file. */
function readTrusted(file: string, user: number | undefined): Buffer | undefined {
  let descriptor: number | undefined;
  try {
    descriptor = openSync(file, 'r');
    refuseForeign(file, fstatSync(descriptor), user);
    return readFileSync(descriptor);
  } catch (thrown) {
    if (thrown instanceof Failure) throw thrown;
    const { code } = thrown as NodeJS.ErrnoException;
    if (code === 'ENOENT') return undefined;
    throw new Failure('config', `${file} cannot be read (${code}): mend or remove it`);
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

function refuseForeign(
  file: string,
  found: { mode: number; uid: number; gid: number },
  user: number | undefined,
): void {
  const foreign = whyForeign(found, { user });
  if (foreign)
    throw new Failure(
      'config',
      `${file} ${foreign.why}${foreign.isOwned ? `: chmod 600 ${file}` : ', who decides what is in it: chown it, or remove it'}`,
    );
}
