/** An answer before it is sent: plain data. Errors have the body of the specification ("Errors"), and tell no more. */

import type { Refusal } from '../admission.ts';

export type Answer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Null for an answer without a body. */
  readonly body: Uint8Array | string | null;
};

/** An answer that is known but for its body, so that it can be judged what it costs before anything is read. */
export type Planned = {
  /** False for what takes nothing from the quota: an error, a 304. */
  readonly costsQuota: boolean;
  /** Never throws: what goes wrong while it is read is an answer, too. */
  read(): Answer | Promise<Answer>;
};

const errors = {
  invalid_seq: [400, 'seq must be the X-Mirror-Seq of an earlier answer of this endpoint.'],
  bad_request: [400, 'The request cannot be understood.'],
  not_found: [404, 'There is no such endpoint.'],
  method_not_allowed: [405, 'Only GET and HEAD are allowed.'],
  request_timeout: [408, 'The request took too long to arrive.'],
  seq_gone: [410, 'That moment is no longer kept. Ask again without seq.'],
  misdirected_request: [421, 'This service does not answer to that host name.'],
  internal_error: [500, 'Something went wrong here. X-Request-ID names the request.'],
  service_unavailable: [503, 'A required service is temporarily unavailable.'],
} as const;

/** @param retryAfter whole seconds until it is worth trying again; on every 503. */
export function errorAnswer(
  error: keyof typeof errors,
  { retryAfter, ...headers }: { retryAfter?: number; [header: string]: string | number | undefined } = {},
): Answer {
  const [status, message] = errors[error];
  return jsonAnswer(
    status,
    { error, message },
    { ...retrying(retryAfter), ...(headers as Answer['headers']) },
  );
}

export function refusedAnswer({ status, body, retryAfter }: Refusal): Answer {
  // HTTP asks for it (RFC 9110, 15.5.2), and it tells no more than the specification does.
  const challenge = status === 401 ? { 'WWW-Authenticate': 'Bearer' } : {};
  return jsonAnswer(status, body, { ...challenge, ...retrying(retryAfter ?? undefined) });
}

/** An error or a word about the service itself: nobody keeps it. */
export function jsonAnswer(status: number, body: unknown, headers: Answer['headers'] = {}): Answer {
  return {
    status,
    headers: { 'Content-Type': 'application/json', 'Cache-Control': 'no-store', ...headers },
    body: JSON.stringify(body),
  };
}

/** What costs nothing, and is known already. */
export function planned(answer: Answer): Planned {
  return { costsQuota: false, read: () => answer };
}

const retrying = (seconds: number | undefined): Answer['headers'] =>
  seconds === undefined ? {} : { 'Retry-After': String(seconds) };
