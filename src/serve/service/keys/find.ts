/** Which key somebody means. */

import { Failure } from '../../../errors.ts';
import { nearest } from '../../../near.ts';
import { type KeyReader, type KeyRecord, statusOf } from './records.ts';

/**
 * The key with this id, else the one with this name: the one that is active where several have it.
 * @throws Failure `usage` where there is none, or more than one.
 */
export function findKey(keys: KeyReader, named: string, now: number): KeyRecord {
  const byId = keys.byId(named);
  if (byId) return byId;
  const all = keys.byName(named);
  const active = all.filter((key) => statusOf(key, now) === 'active');
  const meant = active.length > 0 ? active : all;
  const [only] = meant;
  if (only && meant.length === 1) return only;
  if (only)
    throw new Failure(
      'usage',
      `${meant.length} keys have the name '${named}': say which by its id, ${meant.map(({ id }) => id).join(' or ')}`,
    );
  const near = nearest(
    named,
    keys.all().flatMap(({ id, name }) => [id, name]),
  );
  throw new Failure('usage', `there is no key '${named}'${near}; market-mirror keys list shows them`);
}
