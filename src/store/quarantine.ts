/** Rows that broke the contract: kept whole with the reason, counted when they come again, resolved when they fit. */

import { createHash } from 'node:crypto';
import { and, eq, isNull, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/better-sqlite3';
import type { Connection } from './connection.ts';
import { prepare } from './prepare.ts';
import { quarantine } from './schema.ts';

export type Problem = { path: string; expected: string; received: string };

/** A refused row: its JSON as received, its key where one could be read. */
export type RefusedRow = { key: string | null; body: string; problems: Problem[] };

export type Origin = { job: string; walkId: number; requestId: string | null; now: string };

export type Quarantine = {
  /** Returns the row's number in the quarantine. */
  keep(row: RefusedRow, origin: Origin): number;
  /** Marks the row that was refused under this key before, if there is one, as resolved. */
  resolve(key: string, now: string): void;
  /** The number of the unresolved row that was refused under this key; undefined where there is none. */
  numberOf(key: string): number | undefined;
};

export function openQuarantine(connection: Connection, job: string): Quarantine {
  const db = drizzle(connection);
  const upsert = prepareUpsert(connection);
  const unresolved = new Map(
    db
      .select({ identity: quarantine.identity, id: quarantine.id })
      .from(quarantine)
      .where(and(eq(quarantine.job, job), isNull(quarantine.resolvedAt)))
      .all()
      .map(({ identity, id }) => [identity, id]),
  );
  return {
    keep(row, origin) {
      const identity = row.key ?? createHash('sha256').update(row.body).digest('hex');
      const id = upsert.pluck({
        ...row,
        ...origin,
        identity,
        problems: JSON.stringify(row.problems),
      }) as number;
      unresolved.set(identity, id);
      return id;
    },
    resolve(key, now) {
      if (!unresolved.delete(key)) return;
      db.update(quarantine)
        .set({ resolvedAt: now })
        .where(and(eq(quarantine.job, job), eq(quarantine.identity, key)))
        .run();
    },
    numberOf: (key) => unresolved.get(key),
  };
}

function prepareUpsert(connection: Connection) {
  const at = (name: string) => sql.placeholder(name);
  return prepare(
    connection,
    drizzle(connection)
      .insert(quarantine)
      .values({
        job: at('job'),
        key: at('key'),
        identity: at('identity'),
        body: at('body'),
        problems: at('problems'),
        requestId: at('requestId'),
        walkId: at('walkId'),
        firstSeenAt: at('now'),
        lastSeenAt: at('now'),
      })
      .onConflictDoUpdate({
        target: [quarantine.job, quarantine.identity],
        set: {
          body: sql`excluded.body`,
          problems: sql`excluded.problems`,
          requestId: sql`excluded.request_id`,
          walkId: sql`excluded.walk_id`,
          lastSeenAt: sql`excluded.last_seen_at`,
          times: sql`${quarantine.times} + 1`,
          resolvedAt: null,
        },
      })
      .returning({ id: quarantine.id }),
  );
}
