/** Text files of the user: UTF-8, as everything else here. PowerShell's `>` writes UTF-16, which would be read as nothing. */

import { Failure } from './errors.ts';

const LITTLE = 'UTF-16 (little-endian)';
const BIG = 'UTF-16 (big-endian)';

/** What Unicode text may begin with, the longest mark first. */
const marks: readonly (readonly [encoding: string, mark: readonly number[]])[] = [
  ['UTF-32', [0xff, 0xfe, 0, 0]],
  ['UTF-32', [0, 0, 0xfe, 0xff]],
  [LITTLE, [0xff, 0xfe]],
  [BIG, [0xfe, 0xff]],
];

/**
 * The text of a file, without a byte order mark. @param what names the file.
 * @throws Failure `config` where it is not written in UTF-8, as far as that can be known.
 */
export function textIn(bytes: Buffer, what: string): string {
  const wrong = marks.find(([, mark]) => bytes.subarray(0, mark.length).equals(Buffer.from(mark)));
  const encoding = wrong?.[0] ?? encodingByNulls(bytes);
  if (encoding !== undefined)
    throw new Failure(
      'config',
      `${what} is written in ${encoding}: save it as UTF-8 (in PowerShell: Set-Content -Encoding utf8)`,
    );
  return bytes.toString('utf8').replace(/^\uFEFF/, '');
}

/** Without a mark, ASCII in UTF-16 is known by a NUL at every second byte. */
function encodingByNulls(bytes: Buffer): string | undefined {
  const nulls = { even: 0, odd: 0 };
  for (const [at, byte] of bytes.entries()) if (byte === 0) nulls[at % 2 === 0 ? 'even' : 'odd'] += 1;
  const isLikely = 4 * (nulls.even + nulls.odd) > bytes.length;
  return isLikely ? (nulls.odd > nulls.even ? LITTLE : BIG) : undefined;
}
