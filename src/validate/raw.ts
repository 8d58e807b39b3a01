/** Each row of a page exactly as it was received: order of members, spelling of numbers and all. */

import { visit } from 'jsonc-parser';

/**
 * The JSON text of every element of the array at `path` (names joined by a dot, empty for the root).
 * Where a name is given twice, the last one counts, as it does for `JSON.parse`.
 */
export function sliceRows(text: string, path: string): string[] {
  const target = path === '' ? 0 : path.split('.').length;
  const wanted = path === '' ? [] : path.split('.');
  const names: string[] = [];
  let slices: string[] = [];
  let depth = 0;
  let inside = false;
  let begin = 0;

  const isTarget = () => depth === target && wanted.every((name, at) => names[at] === name);
  const open = (offset: number) => {
    if (inside && depth === target + 1) begin = offset;
    depth += 1;
  };
  const close = (offset: number, length: number) => {
    depth -= 1;
    if (inside && depth === target + 1) slices.push(text.slice(begin, offset + length));
  };
  visit(text, {
    onObjectBegin: open,
    onObjectEnd: close,
    onObjectProperty: (name) => {
      if (!inside) names[depth - 1] = name;
    },
    onArrayBegin(offset) {
      if (!inside && isTarget()) {
        inside = true;
        slices = [];
      }
      open(offset);
    },
    onArrayEnd(offset, length) {
      close(offset, length);
      if (inside && depth === target) inside = false;
    },
    onLiteralValue(_value, offset, length) {
      if (inside && depth === target + 1) slices.push(text.slice(offset, offset + length));
    },
  });
  return slices;
}
