/** How the queue tells the log what happens to it. */

/** All fields that this room writes to the log. Errors go in as text: those of Redis carry the password in a property. */
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

/** pino's `Logger` is one. */
export type Log = { info: Write; warn: Write; error: Write };
