/** Whether a key may be used for a call (specification, "Authentication"). */

import { digestOf, isKey } from './format.ts';
import type { KnownKey } from './known.ts';

/** The digest of the key in an Authorization header; undefined where there is none that could be ours. */
export function digestIn(authorization: string | undefined): string | undefined {
  const [, sent = ''] = /^Bearer +(\S+)$/i.exec(authorization ?? '') ?? [];
  return isKey(sent) ? digestOf(sent) : undefined;
}

/**
 * Why it is refused: the key itself, or what it is used for; null where it is not.
 * @param scope null where any active key will do.
 */
export function whyRefused(
  key: KnownKey | undefined,
  { address, scope }: { address: string; scope: string | null },
  now: number,
): 'key' | 'forbidden' | null {
  if (!key || key.isRevoked || (key.expiresAt !== null && key.expiresAt <= now)) return 'key';
  const isElsewhere = key.allows !== null && !key.allows(address);
  return isElsewhere || (scope !== null && !key.scopes.includes(scope)) ? 'forbidden' : null;
}
