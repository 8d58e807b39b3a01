/**
 * An API of any size, in a process of its own: `large-api.js '{"rows":1000}'` serves so many AI signals and news items, made
 * of a hundred samples of each and told apart by ids in random order. A GET of `/publish` publishes the signals anew,
 * `/publish?aged` a minute older and in another order. With `latencyMs` every answer takes so long, with `atOnce` a call
 * beyond so many under way is refused, and with `texts` the rationale of a signal is made of so many.
 */

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { seededRandom, shuffled, startModelApi } from '../../model-api/index.ts';
import { uuid } from '../../model-api/random.ts';

export type LargeApi = { rows: number; latencyMs?: number; atOnce?: number; texts?: number };

type Dataset = { samples: Sample[]; envelope(): string };

const SAMPLES = 100;
const QUOTA = 10_000_000;
const {
  rows,
  latencyMs = 0,
  atOnce = Number.POSITIVE_INFINITY,
  texts = 1,
} = JSON.parse(process.argv[2] ?? '') as LargeApi;

const model = await startModelApi({
  rows: { aiSignals: SAMPLES, news: SAMPLES, smartWallets: 0, memeSignals: 0 },
});
const signals: Dataset = {
  samples: model.data.aiSignals.rows.map((row, at, all) =>
    sampleOf({ ...row, rationale: longText(all, at) }),
  ),
  envelope: () =>
    `"generatedAt":"${new Date(1_764_000_000_000 + published * 1_000).toISOString()}","source":"published-signal-snapshot","mode":"read-only"`,
};
const news: Dataset = { samples: model.data.news.rows.map(sampleOf), envelope: () => '"dataset":"news"' };
const datasets: Record<string, Dataset> = { '/api/v1/ai-signals': signals, '/api/v1/news': news };
await model.close();

const random = seededRandom(1);
const ids = Array.from({ length: rows }, () => uuid(random));
/** Which row is at each place. */
let order = Array.from({ length: rows }, (_, at) => at);
let published = 0;
let aged = 0;
let calls = 0;
let underWay = 0;

const server = createServer(async (request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost');
  const dataset = datasets[pathname];
  response.setHeader('content-type', 'application/json');
  if (pathname === '/publish') publish(searchParams.has('aged'));
  if (!dataset) return response.writeHead(404).end('{}');
  if (underWay >= atOnce) return response.writeHead(429, { 'retry-after': '1' }).end('{}');
  underWay += 1;
  if (latencyMs > 0) await sleep(latencyMs);
  underWay -= 1;
  calls += 1;
  if (dataset === signals) {
    response.setHeader('x-ratelimit-limit', QUOTA);
    response.setHeader('x-ratelimit-remaining', QUOTA - calls);
  }
  const offset = Number(searchParams.get('offset'));
  return response.end(page(dataset, offset, Math.min(rows, offset + Number(searchParams.get('limit')))));
});

function publish(isAged: boolean): void {
  published += 1;
  if (!isAged) return;
  aged += 60;
  order = shuffled(order, random);
}

function page({ samples, envelope }: Dataset, offset: number, end: number): string {
  let list = '';
  for (let at = offset; at < end; at += 1) {
    const row = order[at] as number;
    const { before, age, behind } = samples[row % SAMPLES] as Sample;
    list += `${list && ','}{"id":"${ids[row]}",${before}${age === undefined ? '' : age + aged}${behind}}`;
  }
  const returned = Math.max(0, end - offset);
  const pagination = JSON.stringify({ offset, limit: 100, total: rows, returned, hasMore: end < rows });
  return `{${envelope()},"rows":[${list}],"pagination":${pagination}}`;
}

/** The rationale of a row and of those that follow. */
function longText(rows: readonly Record<string, unknown>[], from: number): string {
  const each = Array.from({ length: texts }, (_, next) => rows[(from + next) % rows.length]?.['rationale']);
  return each.join(' ');
}

/** A row as JSON, without its braces and its id, cut open at what grows with time. */
type Sample = { before: string; age: number | undefined; behind: string };

function sampleOf(row: object): Sample {
  const json = JSON.stringify({ ...row, id: undefined }).slice(1, -1);
  const [, before = '', age, behind = ''] = /^(.*"ageSeconds":)(\d+)(.*)$/.exec(json) ?? [];
  return age === undefined ? { before: json, age, behind } : { before, age: Number(age), behind };
}

// Longer than a pass: a call must not meet a connection that is just being closed.
server.keepAliveTimeout = 600_000;
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`);
});
