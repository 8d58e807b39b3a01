/** Answers that arrive in pieces. */

import { expect, onTestFinished, test, vi } from 'vitest';
import { fetchOverview, jsonLines } from '../../web/service.ts';

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

test('a line may come in pieces, and a piece hold several lines', async () => {
  expect(await linesOf('{"a":', '1}\n{"b":2}\n{"c"', ':3}\n')).toEqual([{ a: 1 }, { b: 2 }, { c: 3 }]);
});

test('a letter may be cut in two', async () => {
  const bytes = new TextEncoder().encode('"Zürich"\n');
  expect(await linesOf(bytes.slice(0, 3), bytes.slice(3))).toEqual(['Zürich']);
});

test('the last line needs no end', async () => {
  expect(await linesOf('1\n2')).toEqual([1, 2]);
});

test('a line that was cut off is an error', async () => {
  await expect(linesOf('{"a":1}\n{"b"')).rejects.toThrow(SyntaxError);
});

test('a line that was cut off is left out where the next one says why', async () => {
  expect(await linesOf('{"a":1}\n{"b"', '\n{"failed":1}\n')).toEqual([{ a: 1 }, { failed: 1 }]);
});

test.each([
  ['a failed query', { failed: { kind: 'usage', message: 'no such table' } }, 'no such table'],
  ['an error of the API', { error: 'request_timeout', message: 'too slow' }, 'too slow'],
  ['anything else', [], 'the service answered 408'],
])('what went wrong is told in words: %s', async (_, body, message) => {
  vi.stubGlobal('fetch', async () => Response.json(body, { status: 408 }));
  onTestFinished(() => void vi.unstubAllGlobals());
  expect((await fetchOverview()).problem?.message).toBe(message);
});
