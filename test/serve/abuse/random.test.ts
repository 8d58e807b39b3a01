/** Requests of pieces that were put together at random: whatever comes, a clear answer, and the next one is as before. */

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type Abused, errorIn, expectNothingKept, NEWS, setupAbuse } from './support.ts';

const REQUESTS = 400;

const odd = fc.constantFrom(
  ...'% %00 %2e%2e %2F .. . // ; \\ \0 \x7f \xff \t ? # & = []'.split(' '),
  ...`' " < { $ * : @ - + 0`.split(' '),
  ...['9'.repeat(30), '1e9', 'NaN', '__proto__', 'é', 'a'.repeat(300)],
);
const path = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.constantFrom(NEWS, '/api/v1/ai-signals', '/api/v1/usage', '/healthz', '/openapi.json'),
  },
  fc
    .array(fc.oneof(odd, fc.constantFrom('/', 'api', 'v1', 'news')), { maxLength: 8 })
    .map((parts) => parts.join('')),
);
const query = fc
  .array(
    fc.tuple(
      fc.constantFrom('offset', 'limit', 'seq', 'q', 'kind', 'x'),
      fc.constantFrom('=', '', '[]='),
      odd,
    ),
    {
      maxLength: 5,
    },
  )
  .map((parts) => parts.map((part) => part.join('')).join('&'));
const method = fc.oneof(
  { weight: 4, arbitrary: fc.constant('GET') },
  fc.constantFrom('HEAD', 'POST', 'TRACE', 'X', ''),
);
const header = fc.oneof(
  fc.tuple(
    fc.constantFrom(
      'Host',
      'Authorization',
      'If-None-Match',
      'Accept-Encoding',
      'X-Forwarded-For',
      'Range',
      'Origin',
    ),
    fc.oneof(
      odd,
      fc.constantFrom('Bearer x', 'W/"*"', '*', 'br;q=9, *;q=0', 'bytes=0-1', '::1, 192.0.2.1', 'null'),
    ),
  ),
  fc.tuple(fc.constantFrom('Expect', 'Upgrade', 'Cookie', 'Accept', 'X-Request-ID'), odd),
);
const request = fc.record({
  method,
  path,
  query,
  headers: fc.array(header, { maxLength: 4 }),
  /** What an honest client sends as well. */
  honest: fc.constantFrom('both', 'both', 'host', 'none'),
});

test('a request of any pieces gets a clear answer, and leaves no trace of a key', async () => {
  const abused = await setupAbuse({ walked: ['news', 'ai-signals'] });
  const statuses = new Set<number>();
  await fc.assert(
    fc.asyncProperty(request, async ({ method, path, query, headers, honest }) => {
      const known = [`Host: ${abused.host}`, `Authorization: Bearer ${abused.key}`];
      const own = honest === 'both' ? known : honest === 'host' ? known.slice(0, 1) : [];
      const others = headers.map(([name, value]) => `${name}: ${value}`);
      const answer = await abused.send(`${method} ${path}?${query} HTTP/1.1`, [...own, ...others]);
      statuses.add(answer.status);
      expectAnswer(abused, method, answer);
    }),
    { numRuns: REQUESTS },
  );
  for (const status of [200, 400, 401, 404, 405, 421]) expect([...statuses]).toContain(status);
  expect((await abused.get(NEWS)).status).toBe(200);
  expectNothingKept(abused);
});

function expectAnswer(abused: Abused, method: string, answer: Awaited<ReturnType<Abused['send']>>): void {
  const { status, head, body } = answer;
  expect([200, 304, 400, 401, 403, 404, 405, 410, 414, 417, 421, 429, 431, 503]).toContain(status);
  expect(head).not.toMatch(/^(access-control|location|set-cookie|x-powered-by|server):/im);
  // Of a request that cannot be read it is not known that it was HEAD.
  if (status === 304 || (method === 'HEAD' && body === '')) expect(body).toBe('');
  else if (status >= 400) errorIn(abused, answer);
}
