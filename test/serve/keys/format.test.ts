import fc from 'fast-check';
import { expect, test } from 'vitest';
import { digestOf, isKey, newKey, newKeyId, resemblesKey } from '../../../src/serve/service/keys.ts';

test('a key has a prefix that scanners find, and is one word of one length', () => {
  const keys = Array.from({ length: 200 }, newKey);
  for (const key of keys) expect(key).toMatch(/^mmkey_[0-9A-Za-z]{49}$/);
  expect(keys.every(isKey)).toBe(true);
  expect(new Set(keys).size).toBe(200);
});

test('its letters are all used, in every place of the secret but the first', () => {
  const keys = Array.from({ length: 2_000 }, newKey);
  for (const place of [7, 20, 48]) expect(new Set(keys.map((key) => key[place])).size).toBe(62);
});

test('a slip of the fingers is no key: another letter, two in the wrong order, one too few or too many', () => {
  const letter = fc.constantFrom(...'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz');
  fc.assert(
    fc.property(fc.nat({ max: 54 }), letter, fc.nat({ max: 54 }), (place, other, second) => {
      const key = newKey();
      const letters = [...key];
      const swapped = [...letters];
      [swapped[place], swapped[second]] = [letters[second] ?? '', letters[place] ?? ''];
      const slips = [
        letters.with(place, other).join(''),
        swapped.join(''),
        letters.toSpliced(place, 1).join(''),
        letters.toSpliced(place, 0, other).join(''),
      ];
      expect(slips.filter((slip) => slip !== key && isKey(slip))).toEqual([]);
    }),
  );
});

test('keys of others are none, and a pasted key is recognised with a slip in it, too', () => {
  for (const text of ['', 'mmkey_', 'sample-key-of-the-model-api', `x${newKey()}`, `${newKey()}\n`])
    expect([text, isKey(text)]).toEqual([text, false]);
  expect(resemblesKey(`${newKey()}x`)).toBe(true);
  expect(resemblesKey(newKeyId())).toBe(false);
});

test('the digest is the SHA-256 of the whole key', () => {
  expect(digestOf('abc')).toBe('ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad');
});
