/** The API at its fastest: every page of the AI signals made before the first call. Run as a process of its own. */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startModelApi } from '../src/model-api/index.ts';

const PAGE = 100;
const rows = Number(process.argv[2]);

const model = await startModelApi({ rows: { aiSignals: rows, news: PAGE, smartWallets: 0, memeSignals: 0 } });
const all = model.data.aiSignals.rows;
const pages = new Map<number, Buffer>();
for (let offset = 0; offset < rows; offset += PAGE) {
  const page = all.slice(offset, offset + PAGE);
  const pagination = {
    offset,
    limit: PAGE,
    total: rows,
    returned: page.length,
    hasMore: offset + PAGE < rows,
  };
  const envelope = {
    generatedAt: '2026-11-21T12:00:00Z',
    source: 'published-signal-snapshot',
    mode: 'read-only',
  };
  pages.set(offset, Buffer.from(JSON.stringify({ ...envelope, rows: page, pagination })));
}
await model.close();

const server = createServer((request, response) => {
  const offset = Number(/offset=(\d+)/.exec(request.url ?? '')?.[1] ?? 0);
  const body = pages.get(offset);
  response.setHeader('content-type', 'application/json');
  if (!body) response.writeHead(404).end('{}');
  else response.setHeader('content-length', body.length).end(body);
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
