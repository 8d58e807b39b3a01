/** Differences between what the contract or earlier rows say and what came: one row each, however often met. */

import { eq, sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/better-sqlite3';
import type { Drift } from '../validate/checked.ts';
import type { Connection } from './connection.ts';
import { excluded, placeholders, prepare } from './prepare.ts';
import type { Origin } from './quarantine.ts';
import { drift } from './schema.ts';

export type DriftLog = {
  /** Writes a difference when this walk first meets it; from then on it is only counted. */
  note(found: Drift, origin: Origin): void;
  /** Writes what has been counted since. */
  flush(): void;
};

/** A dataset that differs in more ways is summed up in one row of kind `more`. */
export const MOST_DRIFTS = 1_000;

export function createDriftLog(connection: Connection, job: string): DriftLog {
  const upsert = prepareUpsert(connection);
  const known = new Set(readKnown(connection, job));
  const noted = new Map<string, { found: Drift; origin: Origin }>();
  return {
    note(given, origin) {
      const found =
        known.has(identity(given)) || known.size < MOST_DRIFTS ? given : { ...more, times: given.times };
      const id = identity(found);
      const earlier = noted.get(id);
      if (earlier) {
        noted.set(id, { found: { ...found, times: earlier.found.times + found.times }, origin });
        return;
      }
      upsert.run({ ...found, ...origin });
      known.add(id);
      noted.set(id, { found: { ...found, times: 0 }, origin });
    },
    flush() {
      for (const [id, { found, origin }] of noted) {
        if (found.times === 0) continue;
        upsert.run({ ...found, ...origin });
        noted.set(id, { found: { ...found, times: 0 }, origin });
      }
    },
  };
}

const more: Omit<Drift, 'times'> = {
  kind: 'more',
  path: '',
  detail: `than ${MOST_DRIFTS} differences; these are not told apart`,
};

const identity = ({ kind, path, detail }: { kind: string; path: string; detail: string }) =>
  JSON.stringify([kind, path, detail]);

function readKnown(connection: Connection, job: string): string[] {
  return drizzle(connection).select().from(drift).where(eq(drift.job, job)).all().map(identity);
}

function prepareUpsert(connection: Connection) {
  const now = sql.placeholder('now');
  return prepare(
    connection,
    drizzle(connection)
      .insert(drift)
      .values({
        ...placeholders(drift, ['job', 'kind', 'path', 'detail', 'times', 'requestId', 'walkId']),
        firstSeenAt: now,
        lastSeenAt: now,
      })
      .onConflictDoUpdate({
        target: [drift.job, drift.kind, drift.path, drift.detail],
        set: { ...excluded(drift, ['lastSeenAt']), times: sql`${drift.times} + excluded.times` },
      }),
  );
}
