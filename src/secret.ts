/** A value that no log, error or dump can print. */

import { inspect } from 'node:util';

const HIDDEN = '[redacted]';

export type Secret = {
  /** The value itself; only the HTTP client, which sends it, may ask for it. */
  reveal(): string;
};

export function secret(value: string): Secret {
  return {
    reveal: () => value,
    toString: () => HIDDEN,
    toJSON: () => HIDDEN,
    [inspect.custom]: () => HIDDEN,
  } as Secret;
}
