/**
 * An API of any size, in a process of its own: `large-api.ts <rows>` serves so many AI signals and news items, made of
 * a hundred samples of each and told apart by their id. A GET of `/publish` publishes the signals again, unchanged.
 */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startModelApi } from '../../model-api/index.ts';

const SAMPLES = 100;
const rows = Number(process.argv[2]);

const model = await startModelApi({
  rows: { aiSignals: SAMPLES, news: SAMPLES, smartWallets: 0, memeSignals: 0 },
});
const datasets: Record<string, { samples: string[]; envelope(): string }> = {
  '/api/v1/ai-signals': {
    samples: membersOf(model.data.aiSignals.rows),
    envelope: () =>
      `"generatedAt":"${new Date(1_764_000_000_000 + published * 1_000).toISOString()}","source":"published-signal-snapshot","mode":"read-only"`,
  },
  '/api/v1/news': { samples: membersOf(model.data.news.rows), envelope: () => '"dataset":"news"' },
};
await model.close();

let published = 0;
const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost');
  const dataset = datasets[pathname];
  if (pathname === '/publish') published += 1;
  response.setHeader('content-type', 'application/json');
  if (!dataset) return response.writeHead(404).end('{}');
  const offset = Number(searchParams.get('offset'));
  const end = Math.min(rows, offset + Number(searchParams.get('limit')));
  let page = '';
  for (let at = offset; at < end; at += 1)
    page += `${page && ','}{"id":"row-${at}",${dataset.samples[at % SAMPLES]}}`;
  const returned = Math.max(0, end - offset);
  const pagination = JSON.stringify({ offset, limit: 100, total: rows, returned, hasMore: end < rows });
  return response.end(`{${dataset.envelope()},"rows":[${page}],"pagination":${pagination}}`);
});

/** Rows as JSON, without their braces and their id. */
function membersOf(all: readonly object[]): string[] {
  return all.map((row) => JSON.stringify({ ...row, id: undefined }).slice(1, -1));
}

server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
