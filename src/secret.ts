/** A value that no log, error or dump can print. */

import { createHash } from 'node:crypto';
import { inspect } from 'node:util';

const HIDDEN = '[redacted]';

export type Secret = {
  /** The value itself; only the HTTP client, which sends it, may ask for it. */
  reveal(): string;
  /**
   * Four hexadecimal digits that tell it from another one. They say next to nothing of it; one in 65,536 others
   * looks the same.
   */
  digest(salt: string): string;
};

export function secret(value: string): Secret {
  return {
    reveal: () => value,
    digest: (salt) => createHash('sha256').update(salt).update(value).digest('hex').slice(0, 4),
    toString: () => HIDDEN,
    toJSON: () => HIDDEN,
    [inspect.custom]: () => HIDDEN,
  } as Secret;
}
