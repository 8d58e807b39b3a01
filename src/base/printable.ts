/** Text from the API or the mirror, made safe for a terminal; and words for a shell. */

// Control characters can drive the terminal; the others reorder or hide what is read (Unicode UAX 9, tags).
const unsafe =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  /[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

/** Most texts hold nothing but these: that is seen in a tenth of the time. */
const plain = /^[ -~]*$/;

const familiar: Record<string, string> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** JSON for people and programs alike: the same value, with those characters as escapes of JSON. */
export function printableJson(value: unknown, indent = 2): string {
  return JSON.stringify(value, null, indent).replace(unsafe, (char) =>
    char === '\n' ? char : escaped(char),
  );
}

/** The same for JSON that is written already, on one line: every digit and letter stays. */
export function printableRawJson(json: string): string {
  return json.replace(unsafe, (char) => (/[\t\n\r]/.test(char) ? ' ' : escaped(char)));
}

const escaped = (char: string) =>
  Array.from(
    { length: char.length },
    (_, at) => `\\u${char.charCodeAt(at).toString(16).padStart(4, '0')}`,
  ).join('');

/** The text on one line, with every character that a terminal would obey, hide or reorder by written out. */
export function printable(text: string): string {
  if (plain.test(text)) return text;
  return text
    .toWellFormed()
    .replace(unsafe, (char) => familiar[char] ?? `\\u{${char.codePointAt(0)?.toString(16)}}`);
}

/** The same for a text of several lines, whose line breaks stay. */
export function printableLines(text: string): string {
  if (plain.test(text)) return text;
  return text.split('\n').map(printable).join('\n');
}

/** A word as a shell reads it back: in quotes, unless it needs none. */
export const forShell = (word: string) =>
  /^[\w./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
