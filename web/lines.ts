/** Lines of JSON out of a body that arrives in pieces. */

/** @throws SyntaxError for a line that is no JSON, which a body that was cut off ends with. */
export async function* jsonLines<T>(body: ReadableStream<Uint8Array>): AsyncGenerator<T, void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let rest = '';
  try {
    for (;;) {
      const { value, done } = await reader.read();
      rest += done ? decoder.decode() : decoder.decode(value, { stream: true });
      const lines = rest.split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) if (line !== '') yield JSON.parse(line) as T;
      if (done) break;
    }
    if (rest !== '') yield JSON.parse(rest) as T;
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
