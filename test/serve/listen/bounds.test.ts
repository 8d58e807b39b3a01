import { expect, test } from 'vitest';
import { boundsOf } from '../../../src/serve/http/connections.ts';

test.each([
  [Number.POSITIVE_INFINITY, 1_000],
  [4_096, 1_000],
  [1_024, 512],
  [100, 50],
])('of %d files that may be open, connections take %d at most', (files, connections) => {
  expect(boundsOf({}, files).connections).toBe(connections);
});

test('what is given goes before what is usual', () => {
  expect(boundsOf({ connections: 3_000, idleMs: 5 }, 100)).toMatchObject({
    connections: 3_000,
    idleMs: 5,
    headersMs: 10_000,
  });
});
