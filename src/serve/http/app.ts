/**
 * The service in HTTP: which endpoint a call is for, whether it is let in, and what goes into the headers of its answer. Hono
 * finds the endpoint and writes the answer.
 */

import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { getRequestListener, type HttpBindings } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { Hono } from 'hono';
import { type Admission, draftHeaders, isRefused, limitHeaders } from '../service/admission.ts';
import { type Answer, errorAnswer, refusedAnswer } from '../service/answers.ts';
import { askedOf, type InHono, pageAskedOf } from './app/asked.ts';
import { beginCall, type Call, type CallParts, counted, endCall } from './app/call.ts';
import { authorizationOf, pathOf, serviceAddress } from './app/client.ts';
import type { Endpoint, OpenEndpoint, PageAnswer, PageEndpoint } from './app/endpoints.ts';
import { BadBody, Gone, onFinished, streamTo } from './app/stream.ts';

export type { PageAsked } from './app/asked.ts';
export type { AnsweredCall } from './app/call.ts';
export type { Endpoint, OpenEndpoint, PageAnswer, PageEndpoint } from './app/endpoints.ts';
export { Gone, type Stream, type Write } from './app/stream.ts';

export type AppParts = CallParts & {
  admission: Pick<Admission, 'identify' | 'enter'>;
  endpoints: readonly Endpoint[];
  open: readonly OpenEndpoint[];
  page: readonly PageEndpoint[];
  isOurHost(host: string | undefined): boolean;
  draftHeaders: boolean;
  /** Told of what must not happen; the call is answered 500. */
  failed(thrown: unknown, requestId: string): void;
  /** For tests: a call that was let in waits for it. */
  beforeAnswer?: (() => Promise<void>) | undefined;
};

/** What a call is for, and by which methods it may come. */
type Route = { readonly name: string; readonly path?: string; readonly methods?: readonly string[] };

/** Why a request is answered before anything is looked for. */
type Misdirected = 'bad_request' | 'misdirected_request';

const OTHER: Route = { name: 'other' };
const READING = ['GET', 'HEAD'];

/** What no page of ours needs, and no other page may do with ours. */
const strictHeaders = {
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
};

export function createApp(parts: AppParts): RequestListener {
  const { admission } = parts;
  const app = new Hono<{ Bindings: HttpBindings }>();
  for (const endpoint of parts.endpoints)
    app.all(endpoint.path, (c) => respond(c, endpoint, (call) => answerTo(c, call, endpoint)));
  for (const endpoint of parts.open)
    app.all(endpoint.path, (c) => respond(c, endpoint, (call) => openAnswer(c, call, endpoint)));
  for (const endpoint of parts.page)
    app.all(endpoint.path, (c) => respond(c, endpoint, (call) => endpoint.answer(pageAskedOf(c, call))));
  app.notFound((c) => respond(c, OTHER, () => errorAnswer('not_found')));

  async function respond(
    { env: { incoming, outgoing }, req }: InHono,
    route: Route,
    answer: (call: Call) => PageAnswer | Promise<PageAnswer>,
  ): Promise<Response> {
    const { status, headers, body } = await answered(incoming, outgoing, route, (call) =>
      judge(incoming, req.path, route, call, answer),
    );
    // Its memory is never shared, which the types of browsers want to know: tests of the page are checked with them.
    if (typeof body !== 'function')
      return new Response(body as string | Uint8Array<ArrayBuffer> | null, { status, headers });
    outgoing.writeHead(status, headers);
    await streamTo(incoming, outgoing, body).catch((thrown: unknown) => {
      if (!(thrown instanceof Gone)) parts.failed(thrown, headers['X-Request-ID'] ?? '');
    });
    return RESPONSE_ALREADY_SENT;
  }

  /** What Hono could not read has no path, or is meant for another host. */
  async function refuse(
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    why: Misdirected,
  ): Promise<void> {
    const refused = errorAnswer(why);
    const { headers } = await answered(incoming, outgoing, OTHER, () => refused);
    outgoing.writeHead(refused.status, headers).end(incoming.method === 'HEAD' ? null : refused.body);
  }

  /** What is the same for every call: its name, its headers, and whoever hears of it afterwards. */
  async function answered(
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    { name }: Route,
    answer: (call: Call) => PageAnswer | Promise<PageAnswer>,
  ): Promise<PageAnswer> {
    const call = beginCall(parts, incoming, name);
    onFinished(incoming, outgoing, () => endCall(parts, call, incoming));
    const { status, body, ...given } = await answer(call);
    const headers = { ...strictHeaders, ...given.headers, 'X-Request-ID': call.requestId };
    call.status = status;
    if (typeof body === 'function') return { status, headers, body: counted(body, call) };
    call.bytes = body === null ? 0 : Buffer.byteLength(body);
    const length = status === 304 || status === 204 ? {} : { 'Content-Length': String(call.bytes) };
    return { status, headers: { ...headers, ...length }, body: incoming.method === 'HEAD' ? null : body };
  }

  async function judge(
    incoming: IncomingMessage,
    path: string,
    route: Route,
    call: Call,
    answer: (call: Call) => PageAnswer | Promise<PageAnswer>,
  ): Promise<PageAnswer> {
    const { methods = READING } = route;
    if (!isAsSent(incoming, path, route)) return errorAnswer('not_found');
    if (call.route !== OTHER.name && !methods.includes(incoming.method ?? ''))
      return errorAnswer('method_not_allowed', { Allow: methods.join(', ') });
    try {
      return await answer(call);
    } catch (thrown) {
      if (thrown instanceof BadBody) return errorAnswer(thrown.error);
      // Nobody hears what is said now.
      if (thrown instanceof Gone) return errorAnswer('bad_request');
      parts.failed(thrown, call.requestId);
      return errorAnswer('internal_error');
    }
  }

  /** The key first, then what it would cost, then the limits: nobody learns of a moment for which he may not ask. */
  async function answerTo(c: InHono, call: Call, endpoint: Endpoint): Promise<Answer> {
    const guest = identified(c, call, endpoint.scope);
    if ('refused' in guest) return guest.refused;
    const { costsQuota, read } = endpoint.plan(askedOf(c), guest);
    const permit = admission.enter(guest, costsQuota);
    if (isRefused(permit)) {
      call.limit = permit.limit;
      return refusedAnswer(permit);
    }
    call.permit = permit;
    if (call.isOver) permit.leave();
    await parts.beforeAnswer?.();
    const answer = await read();
    const isSuccess = answer.status < 400;
    const report = costsQuota && !isSuccess ? permit.giveBack() : permit;
    if (!isSuccess) return answer;
    const draft = parts.draftHeaders ? draftHeaders(report) : {};
    return { ...answer, headers: { ...answer.headers, ...limitHeaders(report), ...draft } };
  }

  function openAnswer(c: InHono, call: Call, endpoint: OpenEndpoint): Answer | Promise<Answer> {
    if (endpoint.scope !== null && !call.isLocal) {
      const guest = identified(c, call, endpoint.scope);
      if ('refused' in guest) return guest.refused;
    }
    return endpoint.answer({ ...askedOf(c), address: serviceAddress(c.env.incoming, call.address) });
  }

  function identified(c: InHono, call: Call, scope: string | null) {
    const authorization = authorizationOf(c.env.incoming);
    const caller = admission.identify({ authorization, address: call.address, scope });
    if (isRefused(caller)) {
      call.limit = caller.limit;
      return { refused: refusedAnswer(caller) };
    }
    call.keyId = caller.id;
    call.account = caller.account;
    return caller;
  }

  // It throws only what it has answered; it is told here lest it be lost.
  const listener = getRequestListener(app.fetch);
  return (incoming, outgoing) => {
    const why = misdirected(incoming);
    const answering = why ? refuse(incoming, outgoing, why) : listener(incoming, outgoing);
    Promise.resolve(answering).catch((thrown: unknown) => parts.failed(thrown, ''));
  };

  function misdirected({ url = '', headers: { host } }: IncomingMessage): Misdirected | undefined {
    // Hono takes no backslash in a path, and answers by itself.
    if (host === undefined || !url.startsWith('/') || pathOf({ url }).includes('\\')) return 'bad_request';
    return parts.isOurHost(host) ? undefined : 'misdirected_request';
  }
}

/** A path is none of ours in other letters; only what stands for a part of it may need some. */
function isAsSent(incoming: IncomingMessage, path: string, route: Route): boolean {
  const sent = pathOf(incoming);
  if (sent === path) return true;
  const hasParts = route.path?.includes(':') ?? false;
  return hasParts && URL.canParse(sent, 'http://any') && new URL(sent, 'http://any').pathname === sent;
}
