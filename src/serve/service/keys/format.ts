/**
 * What a key looks like: a prefix that scanners for secrets find, 256 random bits, and a checksum that tells a slip of the
 * fingers, or a key of something else, from one of ours.
 */

import { hash, randomBytes } from 'node:crypto';
import { crc32 } from 'node:zlib';

const PREFIX = 'mmkey_';
const SECRET_BYTES = 32;
/** Letters that 256 and 32 bits take. */
const SECRET_LETTERS = 43;
const CHECKSUM_LETTERS = 6;

const letters = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const form = new RegExp(`^${PREFIX}[0-9A-Za-z]{${SECRET_LETTERS + CHECKSUM_LETTERS}}$`);

export function newKey(): string {
  const secret = `${PREFIX}${inLetters(BigInt(`0x${randomBytes(SECRET_BYTES).toString('hex')}`), SECRET_LETTERS)}`;
  return `${secret}${checksumOf(secret)}`;
}

/** Tells nothing of the key that it names. */
export function newKeyId(): string {
  return `k${randomBytes(5).toString('hex')}`;
}

/** Whether it may be one of ours: its form and its checksum are right. */
export function isKey(text: string): boolean {
  return form.test(text) && text.endsWith(checksumOf(text.slice(0, -CHECKSUM_LETTERS)));
}

/** Whether somebody may take it for one of ours: it is never repeated in an answer. */
export function resemblesKey(text: string): boolean {
  return text.startsWith(PREFIX);
}

/** All that is kept of a key. */
export function digestOf(key: string): string {
  return hash('sha256', key);
}

function checksumOf(secret: string): string {
  return inLetters(BigInt(crc32(secret)), CHECKSUM_LETTERS);
}

function inLetters(value: bigint, length: number): string {
  const base = BigInt(letters.length);
  let text = '';
  for (let left = value; text.length < length; left /= base)
    text = letters.charAt(Number(left % base)) + text;
  return text;
}
