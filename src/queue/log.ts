/** What this folder writes to the log. pino's `Logger` is one. */

/** The whole vocabulary of fields. Errors go in as text: those of Redis carry the password in a property. */
export type Fields = {
  job?: string;
  /** ISO 8601. */
  until?: string;
  reason?: string;
  err?: string;
  stack?: string | undefined;
  /** Where Redis is, without credentials. */
  redis?: string;
  /** How long an outage of Redis took, and the errors of it. */
  seconds?: number;
  errors?: number;
};

type Write = (fields: Fields, message: string) => void;

export type Log = { info: Write; warn: Write; error: Write };
