/** An API that serves one list, as well or as badly as real ones do. */

import { createServer, type ServerResponse } from 'node:http';
import { listenOnLoopback } from '../../test/helpers/loopback.ts';
import type { Kind, List } from './lists.ts';

/** Of one response. */
export const faults = [
  'short page',
  'empty page',
  'error with status 200',
  'web page',
  'broken JSON',
  'refused 403',
  'refused 429',
  'missing 404',
  'failing 500',
  'unavailable 503',
  'cut',
] as const;
export type Fault = (typeof faults)[number];

/** Where an envelope that nobody specified has its rows. */
export const envelopes = ['rows', 'data.results', 'items'] as const;
export type EnvelopeName = (typeof envelopes)[number];

export type Upstream = Awaited<ReturnType<typeof openUpstream>>;

export async function openUpstream(now: () => number) {
  const state = {
    kind: undefined as Kind | undefined,
    list: undefined as List | undefined,
    generatedAt: undefined as string | null | undefined,
    envelope: 'rows' as EnvelopeName,
    pageRows: 100,
    fault: undefined as Fault | undefined,
    /** The place of a row whose pages come only while they are small, or never. */
    heavyAt: undefined as number | undefined,
    unreadableAt: undefined as number | undefined,
    quota: undefined as { limit: number; periodMs: number } | undefined,
    beforeAnswer: async (): Promise<void> => undefined,
  };
  let counted = { period: 0, calls: 0 };

  function takeCall(): { headers: Record<string, string>; isRefused: boolean } {
    if (!state.quota) return { headers: {}, isRefused: false };
    const { limit, periodMs } = state.quota;
    const period = Math.floor(now() / periodMs);
    counted = period === counted.period ? counted : { period, calls: 0 };
    const isRefused = counted.calls >= limit;
    if (!isRefused) counted.calls += 1;
    const left = String(limit - counted.calls);
    return { headers: { 'x-ratelimit-limit': String(limit), 'x-ratelimit-remaining': left }, isRefused };
  }

  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://upstream');
    response.sendDate = false;
    await state.beforeAnswer();
    const { headers, isRefused } = takeCall();
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    const { kind, list } = state;
    if (!kind || !list || !pathname.endsWith(kind.job)) return refuse(response, 404);
    if (isRefused) return refuse(response, 429);
    const offset = Number(searchParams.get('offset') ?? 0);
    const limit = Number(searchParams.get('limit') ?? 100);
    const { fault } = state;
    state.fault = undefined;
    answer(response, kind, list, { offset, limit, fault });
  });

  function answer(
    response: ServerResponse,
    kind: Kind,
    list: List,
    { offset, limit, fault }: { offset: number; limit: number; fault: Fault | undefined },
  ): unknown {
    if (fault === 'error with status 200') return send(response, { error: 'upstream', message: 'later' });
    if (fault === 'cut') return response.destroy();
    if (fault === 'web page') return send(response, '<html>later</html>', 'text/html');
    const [status] = /\d{3}$/.exec(fault ?? '') ?? [];
    if (status) return refuse(response, Number(status));
    const { heavyAt = -1, unreadableAt = -1 } = state;
    if (offset <= heavyAt && heavyAt < offset + limit && limit > 12) return refuse(response, 502);
    const size = fault === 'empty page' ? 0 : fault === 'short page' ? 1 : Math.min(limit, state.pageRows);
    const rows = list.rows.slice(offset, offset + size).map((row) => list.sent(row, now()));
    const hasMore = offset + rows.length < list.rows.length;
    const pagination = { offset, limit, total: list.rows.length, returned: rows.length, hasMore };
    const body = JSON.stringify(enveloped(kind, rows, pagination));
    const isUnreadable = offset <= unreadableAt && unreadableAt < offset + rows.length;
    return send(response, isUnreadable || fault === 'broken JSON' ? body.slice(0, -9) : body);
  }

  function enveloped({ job }: Kind, rows: unknown[], pagination: object): unknown {
    if (job === 'ai-signals')
      return {
        ...{ generatedAt: state.generatedAt ?? null, source: 'published-signal-snapshot', mode: 'read-only' },
        ...{ rows, pagination },
      };
    if (state.envelope === 'data.results') return { data: { results: rows, pagination }, facets: [{ a: 1 }] };
    if (state.envelope === 'items') return { items: rows, ...pagination };
    return { rows, pagination };
  }

  const listening = await listenOnLoopback(server);
  return { state, url: listening.url, close: listening.close };
}

function send(response: ServerResponse, body: unknown, type = 'application/json'): void {
  response.setHeader('content-type', type);
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}

function refuse(response: ServerResponse, status: number): void {
  response.statusCode = status;
  if (status === 429) response.setHeader('retry-after', '30');
  send(response, { error: 'refused', message: `status ${status}` });
}
