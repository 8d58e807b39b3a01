/** An answer before it is sent: plain data, so that a fault is a function from one answer to another. */

import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { EndpointName } from './datasets.ts';
import type { Paging } from './endpoints.ts';
import type { Random } from './random.ts';

export type Answer = {
  readonly status: number;
  /** Lower-case names. Content-Length is added where neither it nor Transfer-Encoding is given. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  /** A JSON value; a Buffer is sent as it is; undefined is no body at all. */
  readonly body: unknown;
  /** Waits this long before the first byte. */
  readonly delayMs: number;
  readonly deliver: Deliver;
};

/**
 * Writes what comes before the last bytes and gives those back, with which the server ends the answer; or null
 * where the answer never ends as it should. The head is set and goes out with the first write.
 */
export type Deliver = (
  response: ServerResponse,
  bytes: Buffer,
  wait: (ms: number) => Promise<void>,
) => Buffer | null | Promise<Buffer | null>;

/** A call as scripts of faults see it. */
export type ApiRequest = Paging & {
  /** 1 for the first call to the model. */
  readonly number: number;
  /** 1 for the first call to this endpoint. */
  readonly nth: number;
  /** Epoch milliseconds. */
  readonly at: number;
  readonly endpoint: EndpointName | null;
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
};

export type AnswerContext = {
  readonly request: ApiRequest;
  readonly random: Random;
  /** The body that this endpoint gives for another window. */
  readonly bodyAt: (paging: Paging) => unknown;
};

/** Turns the answer that was planned into the one that is sent. */
export type Fault = (answer: Answer, context: AnswerContext) => Answer;

export function jsonAnswer(
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): Answer {
  return {
    status,
    headers: { 'content-type': 'application/json', ...headers },
    body,
    delayMs: 0,
    deliver: (_, bytes) => bytes,
  };
}

export function bodyBytes(body: unknown): Buffer {
  if (Buffer.isBuffer(body)) return body;
  return body === undefined ? Buffer.alloc(0) : Buffer.from(JSON.stringify(body));
}

/** The rows in a body, wherever a body may keep them. */
export function rowsIn(body: unknown): readonly unknown[] {
  if (Array.isArray(body)) return body;
  if (!(body instanceof Object) || Buffer.isBuffer(body)) return [];
  const members: unknown[] = Object.values(body);
  return members.find(Array.isArray) ?? members.map(rowsIn).find((rows) => rows.length > 0) ?? [];
}

const NO_BYTES: readonly number[] = [204, 304];

/** Sends the answer; `beforeLastBytes` is called just then, and only if the answer ends well. */
export async function send(
  answer: Answer,
  response: ServerResponse,
  wait: (ms: number) => Promise<void>,
  beforeLastBytes: () => void,
): Promise<void> {
  // Before any wait, since the rows may be edited meanwhile.
  const bytes = bodyBytes(answer.body);
  if (answer.delayMs > 0) await wait(answer.delayMs);
  if (response.destroyed) return;
  const sized = 'content-length' in answer.headers || 'transfer-encoding' in answer.headers;
  const length = sized || NO_BYTES.includes(answer.status) ? {} : { 'content-length': bytes.length };
  response.writeHead(answer.status, { ...(answer.headers as Record<string, string | string[]>), ...length });
  const last = await answer.deliver(response, bytes, wait);
  if (last === null || response.destroyed) return;
  // A client that has read them may call again at once: by then the call must have ended here.
  beforeLastBytes();
  response.end(last);
}

/** Real time, cut short by the signal. */
export async function realDelay(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal });
}
