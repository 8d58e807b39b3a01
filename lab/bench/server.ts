/** The API at its fastest: every page of the AI signals made before the first call. Run as a process of its own. */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { startModelApi } from '../../model-api/index.ts';

const PAGE = 100;
const rows = Number(process.argv[2]);

const model = await startModelApi({ rows: { aiSignals: rows, news: PAGE, smartWallets: 0, memeSignals: 0 } });
const all = model.data.aiSignals.rows;
/** The same rows, published twice: an unchanged dataset whose walk is not cut short because nothing was published. */
const snapshots = ['2026-11-21T12:00:00Z', '2026-11-21T12:02:00Z'].map(pagesOf);
await model.close();

let served = 0;
const server = createServer((request, response) => {
  if (request.url === '/publish') served = 1 - served;
  const offset = Number(/offset=(\d+)/.exec(request.url ?? '')?.[1]);
  const body = snapshots[served]?.get(offset);
  response.setHeader('content-type', 'application/json');
  if (!body) response.writeHead(404).end('{}');
  else response.setHeader('content-length', body.length).end(body);
});

function pagesOf(generatedAt: string): Map<number, Buffer> {
  const envelope = { generatedAt, source: 'published-signal-snapshot', mode: 'read-only' };
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
    pages.set(offset, Buffer.from(JSON.stringify({ ...envelope, rows: page, pagination })));
  }
  return pages;
}

server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
