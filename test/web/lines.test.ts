/** Answers that arrive in pieces. */

import { expect, onTestFinished, test, vi } from 'vitest';
import { fetchOverview, jsonLines } from '../../web/service.ts';

const zurich = new TextEncoder().encode('"Zürich"\n');

async function linesOf(...pieces: (string | Uint8Array)[]): Promise<unknown[]> {
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces)
        controller.enqueue(typeof piece === 'string' ? encoder.encode(piece) : piece);
      controller.close();
    },
  });
  const lines: unknown[] = [];
  for await (const line of jsonLines(body)) lines.push(line);
  return lines;
}

test.each<[title: string, pieces: (string | Uint8Array)[], lines: unknown[]]>([
  ['in pieces, several to a piece', ['{"a":', '1}\n{"b":2}\n{"c"', ':3}\n'], [{ a: 1 }, { b: 2 }, { c: 3 }]],
  ['a letter cut in two', [zurich.slice(0, 3), zurich.slice(3)], ['Zürich']],
  ['no end of the last', ['1\n2'], [1, 2]],
  ['cut off: what failed comes behind it', ['{"a":1}\n{"b"', '\n{"failed":1}\n'], [{ a: 1 }, { failed: 1 }]],
  ['cut off at the end', ['1\n{"b"'], [1]],
])('lines: %s', async (_, pieces, lines) => expect(await linesOf(...pieces)).toEqual(lines));

test.each([
  ['a failed query', { failed: { kind: 'usage', message: 'no such table' } }, 'no such table'],
  ['an error of the API', { error: 'request_timeout', message: 'too slow' }, 'too slow'],
  ['anything else', [], 'the service answered 408'],
])('what went wrong is told in words: %s', async (_, body, message) => {
  vi.stubGlobal('fetch', async () => Response.json(body, { status: 408 }));
  onTestFinished(() => void vi.unstubAllGlobals());
  expect((await fetchOverview(new AbortController().signal)).problem?.message).toBe(message);
});
