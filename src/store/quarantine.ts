/**
 * Rows that broke the contract: kept whole with the reason, counted when they come again, resolved when they fit or are
 * gone upstream.
 */

import { createHash } from 'node:crypto';
import type { RefusedRow } from '../validate/checked.ts';
import type { Connection } from './connection.ts';

export type Origin = { job: string; walkId: number; requestId: string | null; now: string };

type Quarantine = {
  /** Returns the row's number in the quarantine. */
  keep(row: RefusedRow, origin: Origin): number;
  /** Marks the row that was refused under this key before, if there is one, as resolved. */
  resolve(key: string, now: string): void;
  /** The unresolved row that was refused under this key: its number, and the walk that found it last. */
  find(key: string): { number: number; walkId: number } | undefined;
};

/** The quarantine as one walk of the job uses it. */
export function openQuarantine(connection: Connection, job: string): Quarantine {
  const upsert = connection
    .prepare<[object], number>(
      `INSERT INTO quarantine (job, key, identity, body, problems, request_id, walk_id, first_seen_at, last_seen_at)
       VALUES (:job, :key, :identity, :body, :problems, :requestId, :walkId, :now, :now)
       ON CONFLICT DO UPDATE SET body = excluded.body, problems = excluded.problems, request_id = excluded.request_id,
         walk_id = excluded.walk_id, last_seen_at = excluded.last_seen_at, times = times + 1, resolved_at = NULL
       RETURNING id`,
    )
    .pluck();
  const unresolved = 'job = ? AND identity = ? AND resolved_at IS NULL';
  const resolve = connection.prepare<[string, string, string]>(
    `UPDATE quarantine SET resolved_at = ? WHERE ${unresolved}`,
  );
  const find = connection.prepare<[string, string], { number: number; walkId: number }>(
    `SELECT id AS number, walk_id AS walkId FROM quarantine WHERE ${unresolved}`,
  );
  const identify = createIdentifier();
  // Mostly there is none, and no row has to be looked for.
  let holdsAny = connection
    .prepare('SELECT 1 FROM quarantine WHERE job = ? AND resolved_at IS NULL LIMIT 1')
    .get(job);
  return {
    keep(row, origin) {
      holdsAny = true;
      const problems = JSON.stringify(row.problems);
      return upsert.get({ ...row, ...origin, problems, identity: identify(row) }) as number;
    },
    resolve(key, now) {
      if (holdsAny) resolve.run(now, job, key);
    },
    find: (key) => (holdsAny ? find.get(job, key) : undefined),
  };
}

/** Rows without a key that look alike are counted: the second that a walk meets is known as the second. */
function createIdentifier(): (row: RefusedRow) => string {
  const alike = new Map<string, string[]>();
  return ({ key, identity, body }) => {
    if (key !== null) return identity;
    const digest = createHash('sha256').update(body).digest('base64');
    const met = alike.get(identity) ?? [];
    if (!met.includes(digest)) met.push(digest);
    alike.set(identity, met);
    const at = met.indexOf(digest);
    return at === 0 ? identity : `${identity}#${at + 1}`;
  };
}

/** Resolves the refused rows that a walk which read the whole dataset did not meet: they are gone upstream. */
export function resolveGone(connection: Connection, job: string, walkId: number, now: string): void {
  connection
    .prepare<[string, string, number]>(
      'UPDATE quarantine SET resolved_at = ? WHERE job = ? AND resolved_at IS NULL AND walk_id < ?',
    )
    .run(now, job, walkId);
}
