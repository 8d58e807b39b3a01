/** How calls are refused: the statuses of the specification ("Errors"), with a code and a text that tell no more than those. */

export const refusals = {
  key: [401, 'invalid_api_key', 'The API key is missing or not valid.'],
  forbidden: [403, 'forbidden', 'This API key may not be used for this request.'],
  limit: [429, 'too_many_requests', 'A limit of the account has been reached. Try again later.'],
  failures: [429, 'too_many_requests', 'Too many requests without a valid API key. Try again later.'],
  unavailable: [503, 'service_unavailable', 'A required service is temporarily unavailable.'],
} as const;

export type Refusal = {
  readonly status: 401 | 403 | 429 | 503;
  /** An Error body: two string fields and no others. */
  readonly body: { readonly error: string; readonly message: string };
  /** Whole seconds, for `Retry-After`; on every 429 and 503. */
  readonly retryAfter: number | null;
  /** Which limit it was, for counts and logs; answers do not tell it. */
  readonly limit: 'quota' | 'rate' | 'concurrency' | 'failures' | null;
};

/** @param waitMs until it is worth trying again. */
export function refusal(
  why: keyof typeof refusals,
  waitMs: number | null = null,
  limit: Refusal['limit'] = null,
): Refusal {
  const [status, error, message] = refusals[why];
  const retryAfter = waitMs === null ? null : Math.max(1, Math.ceil(waitMs / 1_000));
  return { status, body: { error, message }, retryAfter, limit };
}
