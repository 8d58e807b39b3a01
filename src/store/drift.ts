/** Differences between what the contract or earlier rows say and what came: one row each, however often met. */

import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/better-sqlite3';
import type { Connection } from './connection.ts';
import { prepare } from './prepare.ts';
import type { Origin } from './quarantine.ts';
import { drift } from './schema.ts';

export type DriftKind =
  | 'new-field'
  | 'vanished-field'
  | 'new-type'
  | 'new-value'
  | 'out-of-range'
  | 'extra-property';

/** `path` names the field, `detail` what is new about it; `times` how many rows of the page show it. */
export type Drift = { kind: string; path: string; detail: string; times: number };

export function createDriftLog(connection: Connection): { note(found: Drift, origin: Origin): void } {
  const at = (name: string) => sql.placeholder(name);
  const upsert = prepare(
    connection,
    drizzle(connection)
      .insert(drift)
      .values({
        job: at('job'),
        kind: at('kind'),
        path: at('path'),
        detail: at('detail'),
        firstSeenAt: at('now'),
        lastSeenAt: at('now'),
        times: at('times'),
        requestId: at('requestId'),
        walkId: at('walkId'),
      })
      .onConflictDoUpdate({
        target: [drift.job, drift.kind, drift.path, drift.detail],
        set: { lastSeenAt: sql`excluded.last_seen_at`, times: sql`${drift.times} + excluded.times` },
      }),
  );
  return { note: (found, origin) => upsert.run({ ...found, ...origin }) };
}
