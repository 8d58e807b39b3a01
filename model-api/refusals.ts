/** Error answers (specification, "Errors"): two string fields and no others. */

export type Refusal =
  | 'key'
  | 'scope'
  | 'ip'
  | 'concurrency'
  | 'rate'
  | 'quota'
  | 'unavailable'
  | 'path'
  | 'method';

/** Codes by reason. Only `invalid_api_key` is known; the rest are inventions that a client cannot rely on. */
export type ErrorCodes = Readonly<Record<Refusal, string>>;

/** All limits share one code, so that a client has to tell them apart by what it sees, as with the real one. */
export const errorCodes: ErrorCodes = {
  key: 'invalid_api_key',
  scope: 'forbidden',
  ip: 'forbidden',
  concurrency: 'too_many_requests',
  rate: 'too_many_requests',
  quota: 'too_many_requests',
  unavailable: 'service_unavailable',
  path: 'not_found',
  method: 'method_not_allowed',
};

export const statusOf: Readonly<Record<Refusal, number>> = {
  key: 401,
  scope: 403,
  ip: 403,
  concurrency: 429,
  rate: 429,
  quota: 429,
  unavailable: 503,
  path: 404,
  method: 405,
};

const messages: Readonly<Record<number, string>> = {
  401: 'The API key is missing or not valid.',
  403: 'This API key may not be used for this request.',
  404: 'There is no such path.',
  405: 'Only GET is allowed.',
  429: 'A limit of the account has been reached. Try again later.',
  503: 'A required service is temporarily unavailable.',
};

export function errorBody(status: number, code: string): { error: string; message: string } {
  return { error: code, message: messages[status] ?? 'The request could not be answered.' };
}
