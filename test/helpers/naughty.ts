/** Values that somebody on their way may take for something else: texts, and the forms in which JSON writes a number. */

import fc from 'fast-check';

const letter = fc.oneof(fc.integer({ min: 0, max: 0xd7ff }), fc.integer({ min: 0xe000, max: 0x10ffff }));

/** Text of any letters. That of fast-check takes twenty seconds to begin. */
export const anyText = fc.array(letter, { maxLength: 8 }).map((codes) => String.fromCodePoint(...codes));

const letters = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, at) => String.fromCodePoint(from + at));

const controls = [
  ...letters(0x00, 0x1f).map((control) => `a${control}b`),
  ...letters(0x7f, 0x9f).map((control) => `a${control}b`),
  letters(0x01, 0x1f).join(''),
  '\r',
  '\n',
  '\r\n',
  'one\rtwo',
  'one\ntwo',
  'one\r\ntwo\n',
  '\ttab\tin\tfront',
  'line\u2028paragraph\u2029end',
  'next\u0085line',
  'form\ffeed\vtab',
  'bell\u0007 back\b\b\bspace',
];

const nul = ['\0', 'NUL\0within', '\0in front', 'behind\0', 'two\0\0'];

const mark = [
  '\ufeff',
  '\ufeffin front',
  '\ufeff\ufefftwice in front',
  'within\ufeffit',
  'behind\ufeff',
  '\ufffe is no letter',
  '\uffff and \ufdd0 are none',
  '\u{1fffe} nor is this',
  '\ufffd',
];

const unseen = [
  'zero\u200bwidth\u200cspace\u200djoiner\u2060',
  'soft\u00adhyphen',
  '\u00a0no-break space\u00a0',
  '\u2003wide\u3000spaces\u2003',
  '\u202eright to left\u202c',
  '\u2067isolated\u2069 \u2066too\u2069',
  'abc\u061cdef\u200e\u200f',
  '\u{e0001}\u{e0074}tags\u{e007f}',
  '\u115f\u1160\u3164\uffa0',
];

const combined = [
  'e\u0301 and \u00e9',
  'A\u030a \u00c5 \u212b',
  'ﬁ ﬀ ß ẞ ſ',
  `z${'\u0335\u0321\u0353\u031b'.repeat(12)}`,
  'ด้้้้้็็็็็',
  'نرخ روزانه',
  'שער יומי',
  '行情 시세 相場 คำพูด',
  'İstanbul ıI iİ',
  'ǅ ǆ Ǆ',
  '\u1e9b\u0323',
  '각 \u1100\u1161\u11a8',
];

const emoji = ['📈', '👩‍💻👨🏿‍🚀🧑🏽‍🤝‍🧑🏻', '🇨🇭🇯🇵', '1️⃣#️⃣', '☺︎☺️', '🏴󠁧󠁢󠁥󠁮󠁧󠁿', '𝒫𝓇𝒾𝒸𝑒 𝟙𝟚𝟛', '𠮷野家 𪚥'];

const quotes = [
  `'`,
  `"`,
  `''`,
  `""`,
  '`',
  `it's "so" \`called\``,
  '“curly” ‘ones’ «and» „others“',
  '\\',
  '\\\\',
  '\\n',
  '\\u0000',
  '\\ud800',
  '\\x00',
  '\\"',
  `\\'`,
  'ends in \\',
  '\\.',
  '\\N',
  '\\\\N',
  '$$',
  '$tag$ body $tag$',
  '{"json":"in text"}',
  '[1,2',
  'null}',
  ',',
  ';',
  '|',
  'a,b;c\td|e',
  '"a","b"',
  '%',
  '%s %d %n %00',
  '{0} {{x}} #{x} <%= x %> $(x)',
];

const commands = [
  `'); DELETE FROM news; --`,
  `" OR ""="`,
  `1; ROLLBACK`,
  `/* not */ -- so`,
  `E'\\\\' U&"x"`,
  "x'; COPY news TO PROGRAM 'true'; --",
  '<b onclick="stop()">bold</b>',
  '<script>document.title = 1</script>',
  '</script><!-- x --><![CDATA[y]]>',
  '&lt;&amp;&#0;&#x27;',
  'javascript:stop()',
  'data:text/html;base64,PGI+',
  '\u001b[31mred\u001b[0m',
  '\u001b]0;title\u0007',
  '\u001b[2J\u001b[H',
  '\u009b1m',
  '$(true) `true` && true; true | true',
  '../../..//x',
  'C:\\x\\y',
  '=1+1',
  '+1+1',
  '-1+1',
  '@sum',
  '\t=1+1',
  '＝1+1',
  'https://example.org/?a=1&b=%20#c',
];

const spaces = ['', ' ', '  ', '\t', ' in front', 'behind ', '  both  ', 'two  within'];

const listOf = (text: string) => text.trim().split(/\s+/);

const words = listOf(`
  NULL null Null nil None undefined NaN nan Infinity -Infinity inf ∞ true false TRUE t f yes no on off Y N
  N/A #N/A #REF! - -- . .. ~ ? default rowid _key now infinity constructor __proto__ toString hasOwnProperty`);

const numbers = [
  ...listOf(`0 -0 +1 01 007 1. .5 1.0 1,000 1_000 1e5 1E5 1e400 -1e-400 0x10 0b1 0o7 1n 1f 1d 9007199254740993
    99999999999999999999 ½ ٣ １２ 1.7976931348623157e309 $12 1/2 1:2 12:30`),
  ...['1 000', '12 %'],
];

const dates = [
  ...listOf(`2026-10-01 2026-10-01T00:00:00Z 2026-10-01t00:00:00.123456789z 2026-02-30 2026-02-30T00:00:00Z
    2024-02-29T12:00:00-23:59 2026-06-30T23:59:60Z 24:00 0000-01-01T00:00:00Z 0001-01-01T00:30:00+01:00
    9999-12-31T23:59:59.999999Z -0001-01-01 10000-01-01T00:00:00Z 1/2/26 1790812800 2026W40 P1D epoch`),
  ...['2026-10-01 00:00:00+00', '1. Okt. 2026', 'Oct 1, 2026'],
];

const long = [
  'x'.repeat(100_000),
  'é'.repeat(5_000),
  `${'📈'.repeat(4_000)}.`,
  'a b\n'.repeat(3_000),
  Array.from({ length: 5_000 }, (_, at) => at.toString(36)).join(''),
];

/** Texts of all kinds, each once. Half a surrogate pair is in none: no table can keep that. */
export const naughtyStrings: readonly string[] = [
  ...new Set(
    [
      ...[controls, nul, mark, unseen, combined, emoji, quotes, commands],
      ...[spaces, words, numbers, dates, long],
    ].flat(),
  ),
];

/** Numbers that are whole, and not beyond 2^53. */
export const wholeForms: readonly string[] = listOf(`
  0 -0 0.0 -0.0 0e0 0E+5 -0e-5 0.000 1 -1 100 100.0 -100.00 1e0 1e3 1E3 1e+3 1.5e1 12.50e2 -25e2 100e-2 1000000e-6
  9007199254740991 -9007199254740991 9007199254740991.0 9.007199254740991e15
  1e-400 -1e-400 1e-2000 0.0e400 0e999999 64000.0`);

/** Numbers with a fraction, or as good as none. */
export const brokenForms: readonly string[] = [
  ...listOf(`1.5 -1.5 0.1 0.10 1e-7 1.0000000000000001 0.1234567890123456789 3.141592653589793238462 5e-324
    2.2250738585072014e-308 4.9E-400 0.30000000000000004 123456.789e-3 1e-1 99999.99999999999999`),
  ...[`0.${'0'.repeat(1_500)}1`, `1.${'5'.repeat(1_500)}`],
];

/** Whole numbers that no double holds exactly, or whose neighbours it does not. */
export const longForms: readonly string[] = [
  ...listOf(`9007199254740992 9007199254740993 -9007199254740993 9007199254740993.0 9007199254740992.5
    9223372036854775807 -9223372036854775808 9223372036854775808 18446744073709551615 12345678901234567890
    -12345678901234567890 1e18 1e19 1E300 1.7976931348623157e308 123456789012345678901234567890.123456789`),
  ...[`1${'0'.repeat(300)}`, `${'9'.repeat(300)}.25`],
];

/** Numbers that no double holds at all: no table can keep their rows. */
export const tooLargeForms: readonly string[] = [
  ...listOf('1e400 -1e309 1.8e308 9e999999'),
  `1${'0'.repeat(400)}`,
];
