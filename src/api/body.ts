/** A response body as text and JSON, or what is wrong with it. */

import { isUtf8 } from 'node:buffer';
import { gunzipSync } from 'node:zlib';

export type Body = { text: string; json: unknown } | { problem: string };

/** @param limit the most bytes that the text may have once it is unpacked. */
export function readBody(bytes: Buffer, contentType: string, contentEncoding: string, limit: number): Body {
  if (contentType !== 'application/json')
    return { problem: `an answer of type ${contentType || 'unknown'} instead of JSON${glimpse(bytes)}` };
  const plain = unpack(bytes, contentEncoding, limit);
  if (!plain) return { problem: `an answer in the encoding ${contentEncoding} that was not asked for` };
  if (plain.length === 0) return { problem: 'an empty answer' };
  if (!isUtf8(plain)) return { problem: 'an answer that is not valid UTF-8' };
  const text = plain.toString('utf8');
  try {
    return { text, json: JSON.parse(text) };
  } catch {
    return { problem: `an answer that is not valid JSON${glimpse(plain)}` };
  }
}

// Some proxies compress whatever was asked for; a small answer may unpack to more than memory holds.
function unpack(bytes: Buffer, encoding: string, limit: number): Buffer | undefined {
  if (encoding === 'identity' || encoding === '') return bytes;
  if (encoding !== 'gzip' && encoding !== 'x-gzip') return undefined;
  try {
    return gunzipSync(bytes, { maxOutputLength: limit });
  } catch {
    return undefined;
  }
}

function glimpse(bytes: Buffer): string {
  const start = bytes
    .subarray(0, 200)
    .toString('latin1')
    .replace(/[^\x20-\x7e]+/g, ' ')
    .trim();
  return start ? `, beginning with: ${start}` : '';
}
