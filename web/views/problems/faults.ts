/** What a refused row breaks, out of the JSON that it is kept as. */

import type { PageCell } from '../../../src/serve/ui/wire.ts';

export type Fault = { path: string; expected: string; received: string };

/** Of what cannot be read, the text itself. */
export function faultsOf(json: PageCell): Fault[] {
  try {
    const found = JSON.parse(String(json)) as unknown;
    if (Array.isArray(found)) return found.map(faultOf);
  } catch {}
  return [{ path: '', expected: 'a list of problems', received: String(json) }];
}

function faultOf(one: unknown): Fault {
  const { path, expected, received } = (one ?? {}) as Record<string, unknown>;
  return { path: textOf(path), expected: textOf(expected), received: textOf(received) };
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing'));
