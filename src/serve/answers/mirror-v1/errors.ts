/** Errors below `/mirror/v1`, in the form of PostgREST: four members, of which two may be null. */

import { type HttpResponse, jsonResponse } from '../../http/response.ts';

type ErrorBody = {
  /** Of PostgREST, of Postgres (SQLSTATE), or our own, which begins with `MIRROR`. */
  readonly code: string;
  readonly message: string;
  readonly details: string | null;
  /** What to do about it. */
  readonly hint: string | null;
};

/** Why a question is refused. */
export class QueryError extends Error {
  readonly status: number;
  readonly body: ErrorBody;

  constructor(status: number, code: string, message: string, details?: string, hint?: string) {
    super(message);
    this.status = status;
    this.body = { code, message, details: details ?? null, hint: hint ?? null };
  }

  /** As a query process sends it: an error would lose its members on its way. */
  data(): QueryErrorData {
    return { status: this.status, ...this.body };
  }

  static of({ status, code, message, details, hint }: QueryErrorData): QueryError {
    return new QueryError(status, code, message, details ?? undefined, hint ?? undefined);
  }
}

export type QueryErrorData = ErrorBody & { readonly status: number };

/** A parameter that cannot be read. */
export const badParameter = (message: string, details?: string, hint?: string) =>
  new QueryError(400, 'PGRST100', message, details, hint);

export const errorResponse = ({ status, body }: QueryError, headers = {}): HttpResponse =>
  jsonResponse(status, body, headers);

/** Those of PostgREST for errors that the rest of the service has, by status. */
const codes: Readonly<Record<number, string>> = {
  400: 'PGRST100',
  401: 'PGRST301',
  403: '42501',
  404: 'PGRST125',
  405: 'PGRST117',
};

const PREFIX = '/mirror/v1';

/** Whether a path lies below this surface, whatever it names. */
export const isQueryPath = (url: string) =>
  url.startsWith(PREFIX) && ['', '/', '?'].includes(url.charAt(PREFIX.length));

/** An error of the rest of the service in the form of this surface. */
export const toErrorBody = (status: number, message: string): ErrorBody => ({
  code: codes[status] ?? `MIRROR${status}`,
  message,
  details: null,
  hint: null,
});
