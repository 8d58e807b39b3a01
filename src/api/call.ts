/** One call to the API as it is recorded, and what its answer brings. */

/** One call as it is recorded: `at` in ISO 8601 UTC, `url` without the origin, nothing secret. */
export type Call = {
  at: string;
  job: string;
  walkId: number | null;
  url: string;
  /** Null where no answer came. */
  status: number | null;
  ms: number;
  bytes: number;
  requestId: string | null;
  rateLimit: number | null;
  rateRemaining: number | null;
  errorCode: string | null;
};

/**
 * The body of an answer, which is valid UTF-8. Its text is made once it is asked for: that takes a hundred times as long as to
 * compare the bytes.
 */
export type Body = { bytes: Buffer; text(): string };

/** The code of a call whose answer has a body that cannot be read. */
export const BAD_BODY = 'bad_body';

/** The code of a call that we stopped: it tells nothing of the API. */
export const STOPPED = 'STOPPED';

/** The code, of undici, of a call whose answer was larger than any page may be. */
export const TOO_LARGE = 'UND_ERR_RES_EXCEEDED_MAX_SIZE';
