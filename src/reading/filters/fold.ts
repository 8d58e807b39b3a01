/** Text as it is compared: case and accents aside. */

/**
 * The folded form of two texts in a row is that of the first and that of the second in a row, so a text is found in another
 * one exactly where its folded form is found in the folded other.
 */
export function fold(text: string): string {
  if (isPlain(text)) return text.toUpperCase();
  // Upper case last: it alone knows no final sigma and no sharp s.
  return text.normalize('NFKD').replace(marks, '').toLowerCase().toUpperCase();
}

/** Each once. */
export function wordsOf(text: string): string[] {
  return [...new Set(fold(text).split(/\s+/))].filter((word) => word !== '');
}

const marks = /\p{M}+/gu;

/** All of ASCII, which has no accents. */
const plain = /^[\0-\x7f]*$/;

const isPlain = (text: string) => plain.test(text);
