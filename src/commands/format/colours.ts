/** Colours on a terminal that has them, plain text elsewhere. */

import { styleText } from 'node:util';
import type { Output } from '../context.ts';

type Format = Parameters<typeof styleText>[0];
export type Paint = (format: Format, text: string) => string;

/** A terminal says itself what it can show, and honours NO_COLOR and TERM. */
export function paintFor(output: Output & { hasColors?(): boolean }): Paint {
  const coloured = output.isTTY && (output.hasColors?.() ?? true);
  return coloured ? (format, text) => styleText(format, text, { validateStream: false }) : (_, text) => text;
}
