/** Text as it is compared: case and accents aside. */

/**
 * The folded form of two texts in a row is that of the first and that of the second in a row, so a text is found in another
 * one exactly where its folded form is found in the folded other.
 */
export function fold(text: string): string {
  return text.replace(beyondAscii, foldRun).toLowerCase().replaceAll('ς', 'σ');
}

/** Each once. */
export function wordsOf(text: string): string[] {
  return [...new Set(fold(text).split(/\s+/))].filter((word) => word !== '');
}

/** Most texts have little of it, and none of what follows is quick. */
const beyondAscii = /[^\0-\x7f]+/g;

/** Upper case on the way, which alone knows that a sharp s is two. */
function foldRun(run: string): string {
  return run.normalize('NFKD').replace(marks, '').toLowerCase().toUpperCase();
}

const marks = /\p{M}+/gu;
