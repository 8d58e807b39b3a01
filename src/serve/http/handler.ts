/**
 * From a request to its response: which route it is for, the headers that every response has, and what is counted and logged of
 * the call once it is over.
 */

import type { IncomingHttpHeaders, IncomingMessage, RequestListener } from 'node:http';
import type { Clock } from '../../base/clock.ts';
import type { Origin } from './request.ts';
import { BadBody, ClientGone } from './request.ts';
import {
  type Exchange,
  errorResponse,
  onFinished,
  type Stream,
  type StreamedResponse,
  streamTo,
} from './response.ts';

/** A call: the request as handlers read it, and what they say of it for counts and logs. */
export type Call = Origin &
  Exchange & {
    readonly method: string;
    readonly headers: IncomingHttpHeaders;
    readonly query: URLSearchParams;
    /** The parts of the path that `:name` stands for. */
    readonly params: Readonly<Record<string, string>>;
    readonly requestId: string;
    readonly route: string;
    readonly startedAt: number;
    keyId: string | null;
    account: string | null;
    /** The limit that refused it. */
    limit: string | null;
    status: number;
    /** Of the body. */
    bytes: number;
  };

/** A call that is over. */
export type FinishedCall = Readonly<
  Pick<
    Call,
    'requestId' | 'route' | 'method' | 'status' | 'bytes' | 'address' | 'keyId' | 'account' | 'limit'
  >
> & {
  /** To the hundredth. */
  readonly ms: number;
};

export type Route = {
  /** In counts and logs: never the path, which anybody may make up. */
  readonly name: string;
  /** `:name` stands for a part of it. */
  readonly path: string;
  /** GET and HEAD unless given. */
  readonly methods?: readonly string[];
  respond(call: Call): StreamedResponse | Promise<StreamedResponse>;
};

type HandlerParts = {
  routes: readonly Route[];
  /** Whether a Host header names this service. */
  isOurHost(host: string): boolean;
  originOf(request: IncomingMessage): Origin;
  requestId(): string;
  clock: Pick<Clock, 'monotonic'>;
  /** The response of a call that no route is for. */
  notFound(call: Call): StreamedResponse;
  /** The response as clients of the path expect it: errors have another form below some. */
  formatError(path: string, response: StreamedResponse): StreamedResponse;
  /** A call has come; `onEnd` follows, whatever becomes of it. */
  onBegin(): void;
  onEnd(call: FinishedCall): void;
  /** Called with errors that must not happen; the call gets a 500. */
  onError(thrown: unknown, requestId: string): void;
};

/** Of a call whose client went away before there was a response, as proxies write it in their logs. */
const CLIENT_GONE_STATUS = 499;

/** No page of ours needs any of this, and no other page may do it with ours. */
const strictHeaders = Object.entries({
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
});

const READING_METHODS = ['GET', 'HEAD'];

/** In counts and logs, for what is no route. */
export const OTHER_ROUTE = 'other';

export function createHandler(parts: HandlerParts): RequestListener {
  const findRoute = routeTable(parts.routes);

  async function handle({ incoming, outgoing }: Exchange): Promise<void> {
    const { url = '', method = '', headers } = incoming;
    // As it was sent: no dots followed, nothing decoded.
    const [path = ''] = url.split('?', 1);
    const problem = misdirection(path, headers.host);
    const found = problem ? undefined : findRoute(path);
    parts.onBegin();
    const { address, isLocal } = parts.originOf(incoming);
    const call: Call = {
      address,
      isLocal,
      incoming,
      outgoing,
      method,
      headers,
      query: new URLSearchParams(url.slice(path.length)),
      params: found?.params ?? {},
      requestId: parts.requestId(),
      route: found?.route.name ?? OTHER_ROUTE,
      startedAt: parts.clock.monotonic(),
      keyId: null,
      account: null,
      limit: null,
      status: CLIENT_GONE_STATUS,
      bytes: 0,
    };
    onFinished(call, () => end(call));
    const response = problem ? errorResponse(problem) : await respond(call, found?.route);
    await send(call, parts.formatError(path, response));
  }

  function misdirection(path: string, host: string | undefined) {
    if (host === undefined || !path.startsWith('/') || path.includes('\\')) return 'bad_request';
    return parts.isOurHost(host) ? undefined : 'misdirected_request';
  }

  async function respond(call: Call, route: Route | undefined): Promise<StreamedResponse> {
    if (!route) return parts.notFound(call);
    const { methods = READING_METHODS } = route;
    if (!methods.includes(call.method))
      return errorResponse('method_not_allowed', { Allow: methods.join(', ') });
    try {
      return await route.respond(call);
    } catch (thrown) {
      if (thrown instanceof BadBody) return errorResponse(thrown.error);
      // Nobody reads this response.
      if (thrown instanceof ClientGone) return errorResponse('bad_request');
      parts.onError(thrown, call.requestId);
      return errorResponse('internal_error');
    }
  }

  async function send(call: Call, { status, headers, body }: StreamedResponse): Promise<void> {
    const { outgoing, requestId } = call;
    call.status = status;
    if (typeof body === 'function') {
      outgoing.writeHead(status, headerList(headers, 'X-Request-ID', requestId));
      const counted: Stream = (write) =>
        body((piece) => {
          call.bytes += Buffer.byteLength(piece);
          return write(piece);
        });
      await streamTo(call, counted).catch((thrown: unknown) => {
        if (!(thrown instanceof ClientGone)) parts.onError(thrown, requestId);
      });
      return;
    }
    call.bytes = body === null ? 0 : Buffer.byteLength(body);
    const hasLength = status !== 304 && status !== 204;
    const length = hasLength ? ['Content-Length', String(call.bytes)] : [];
    outgoing.writeHead(status, headerList(headers, ...length, 'X-Request-ID', requestId));
    outgoing.end(call.method === 'HEAD' ? null : body);
  }

  function end(call: Call): void {
    const { requestId, route, method, status, bytes, address, keyId, account, limit } = call;
    const ms = Math.round((parts.clock.monotonic() - call.startedAt) * 100) / 100;
    parts.onEnd({ requestId, route, method, status, bytes, address, keyId, account, limit, ms });
  }

  return (incoming, outgoing) => {
    handle({ incoming, outgoing }).catch((thrown: unknown) => {
      parts.onError(thrown, '');
      // Its client would wait for a response that never comes.
      outgoing.destroy();
    });
  };
}

/** Names and values in turn: an object put together of several costs Node.js ten times as much. */
function headerList(headers: StreamedResponse['headers'], ...more: readonly string[]): string[] {
  const list: string[] = [];
  for (const [name, value] of strictHeaders) if (!(name in headers)) list.push(name, value);
  for (const name in headers) list.push(name, headers[name] ?? '');
  list.push(...more);
  return list;
}

type FoundRoute = { readonly route: Route; readonly params: Call['params'] };

/** Has no other spelling. */
const PLAIN_PATH = /^[\w/-]+$/;

/** A path is a route's in no other spelling; only a part that `:name` stands for may have letters that need an encoding. */
function routeTable(routes: readonly Route[]): (path: string) => FoundRoute | undefined {
  const isPattern = ({ path }: Route) => path.includes(':');
  const fixed = new Map(
    routes.filter((route) => !isPattern(route)).map((route) => [route.path, { route, params: {} }]),
  );
  const patterns = routes.filter(isPattern).map((route) => ({
    route,
    names: route.path.match(/(?<=:)\w+/g) ?? [],
    form: new RegExp(`^${route.path.replace(/:\w+/g, '([^/]+)')}$`),
  }));
  return (path) => {
    const known = fixed.get(path);
    if (known || !(PLAIN_PATH.test(path) || new URL(`http://any${path}`).pathname === path)) return known;
    for (const { route, names, form } of patterns) {
      const found = form.exec(path);
      if (found)
        return {
          route,
          params: Object.fromEntries(names.map((name, at) => [name, decoded(found[at + 1] ?? '')])),
        };
    }
    return undefined;
  };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
