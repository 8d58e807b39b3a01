/** What keeps the limits of an account out of reach, in words. */

import { Failure, toError } from '../errors.ts';
import { diagnose, isOfSettings, type RedisProblem } from '../redis.ts';

/** What Redis says where nothing is known of it. */
export function troubleOf(thrown: unknown): RedisProblem {
  const error = toError(thrown);
  const found = diagnose(error);
  return found.code === 'other' ? { ...found, message: `Redis answers ${error.message}` } : found;
}

/** The end of a command that cannot begin without them. */
export function failureOf(name: string, address: string, found: RedisProblem): Failure {
  const { message, advice } = found;
  const kind = isOfSettings(found) ? 'config' : 'incomplete';
  return new Failure(
    kind,
    `MIRROR_ACCOUNT ${name}: ${message} (${address}), and no call is made without the account's limits: ${advice}`,
  );
}
