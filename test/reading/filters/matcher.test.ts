import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { matcherOf, normalize, wordsOf } from '../../../src/reading/filters.ts';
import { anyText } from '../../helpers/naughty.ts';
import { leaves, shortText } from './support.ts';

const byWords = (text: string) => matcherOf({ words: wordsOf(text), fields: [] });
const byField = (value: string, ...paths: string[][]) =>
  matcherOf({ words: [], fields: [{ paths, value: normalize(value) }] });

describe('text is compared with case and accents aside', () => {
  it.each([
    ['Épargne', 'EPARGNE'],
    ['straße', 'STRASSE'],
    ['STRAẞE', 'strasse'],
    ['ὈΔΥΣΣΕΎΣ', 'οδυσσευς'],
    ['İstanbul', 'istanbul'],
    ['ﬁnance ①', 'FINANCE 1'],
    ['가격', '가격'.normalize('NFD')],
  ])('%s is %s', (one, other) => expect(normalize(one)).toBe(normalize(other)));

  it('so that a part of a text is a part of it when both are folded', () => {
    fc.assert(
      fc.property(anyText, anyText, (one, other) => {
        expect(normalize(one + other)).toBe(normalize(one) + normalize(other));
      }),
    );
  });
});

describe('words', () => {
  it('are each looked for in every value, whatever stands between them', () => {
    const row = JSON.stringify({ title: 'Gold rises', by: { desk: ['Zürich'] }, score: 12.5, ok: true });
    for (const q of ['gold', 'ZURICH old', '12.5 rise', '2.5', 'GOLD  gold\tzür'])
      expect([q, byWords(q)(row)]).toEqual([q, true]);
    for (const q of ['silver', 'gold silver', 'title', 'true', 'risesZürich', 'rises"', '12.50'])
      expect([q, byWords(q)(row)]).toEqual([q, false]);
  });

  it('are found where JSON is written with escapes', () => {
    const row = String.raw`{"a":"\u0045\u0301pargne","b":"a\/b \"c\" d\\e","c":"line\nend"}`;
    for (const q of ['épargne', 'a/b', '"c"', String.raw`d\e`, 'line end'])
      expect([q, byWords(q)(row)]).toEqual([q, true]);
    for (const q of ['u0045', String.raw`\n`, 'linenend']) expect([q, byWords(q)(row)]).toEqual([q, false]);
  });

  it('match as a search through all values does', () => {
    const texts = fc.array(shortText, { minLength: 1, maxLength: 3 });
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: shortText }), texts, (value, words) => {
        const all = leaves(value).map((text) => normalize(text));
        const expected = wordsOf(words.join(' ')).every((word) => all.some((text) => text.includes(word)));
        expect(byWords(words.join(' '))(JSON.stringify({ value }))).toBe(expected);
      }),
    );
  });
});

describe('a field', () => {
  it.each([
    ['a text', '"Crypto"', 'crypto', true],
    ['a part of a text', '"Cryptography"', 'crypto', false],
    ['a text with accents', '"Énergie"', 'energie', true],
    ['one of a list', '["FX","Crypto"]', 'crypto', true],
    ['none of a list', '["FX",["crypto"]]', 'crypto', false],
    ['a number as it is written', '1.0', '1.0', true],
    ['a number that is written in another way', '1.0', '1', false],
    ['a truth', 'true', 'TRUE', true],
    ['nothing', 'null', 'null', false],
    ['an object', '{"name":"crypto"}', 'crypto', false],
  ])('that is %s: %s and %s: %s', (_, json, value, expected) => {
    expect(byField(value, ['category'])(`{"title":"${value}","category":${json}}`)).toBe(expected);
  });

  it('is the first place where the row has a value or a list', () => {
    const at = byField('a', ['kind'], ['Meta', 'Kind'], ['kinds']);
    expect(at('{"kind":"a","kinds":["b"]}')).toBe(true);
    expect(at('{"kind":"b","kinds":["a"]}')).toBe(false);
    expect(at('{"kind":null,"Meta":{"Kind":"a"}}')).toBe(true);
    expect(at('{"kind":{"of":"b"},"Meta":"a","kinds":["b","A"]}')).toBe(true);
    expect(at('{"kind":[],"kinds":"a"}')).toBe(false);
    expect(at('{"other":"a"}')).toBe(false);
    expect(byField('a', ['constructor'], ['__proto__'])('{"b":"a"}')).toBe(false);
  });
});
