/** The fields of a dataset that have a column, as the table `fields` describes them. */

import { eq } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/better-sqlite3';
import type { Job } from '../../job.ts';
import type { Connection } from '../connection.ts';
import { excluded, placeholders, prepare } from '../prepare.ts';
import { fields } from '../schema.ts';
import type { Present } from './admission.ts';
import { columnName, columnsOf, pathAround } from './columns.ts';

export type Field = Omit<typeof fields.$inferSelect, 'job'>;

export type KnownFields = Present & {
  get(path: string): Field | undefined;
  all(): Iterable<Field>;
  /** Names the column of a field after the names that lead to it; the table gets it by `addColumns`. */
  add(names: readonly string[], field: Omit<Field, 'column'>): Field;
  /** Replaces what is known of a field. */
  keep(field: Field): void;
};

export function openKnownFields(connection: Connection, job: Job): KnownFields {
  const known = new Map(readFields(connection, job.name).map((field) => [field.path, field]));
  const members = new Map<string, Set<string>>();
  for (const path of known.keys()) noteMember(members, path);
  const taken = columnsOf(connection, job);
  const upsert = prepareUpsert(connection);
  const none: ReadonlySet<string> = new Set();

  function keep(field: Field): void {
    upsert.run({ ...field, job: job.name });
    known.set(field.path, field);
  }

  return {
    count: () => known.size,
    has: (path) => known.has(path),
    get: (path) => known.get(path),
    all: () => known.values(),
    membersOf: (object) => members.get(object) ?? none,
    keep,
    add(names, described) {
      const field = { ...described, column: columnName(names, taken) };
      keep(field);
      taken.add(field.column);
      noteMember(members, field.path);
      return field;
    },
  };
}

/** Every object around the field has a member that leads to it. */
function noteMember(members: Map<string, Set<string>>, path: string): void {
  for (let member = path; member !== '$'; member = pathAround(member)) {
    const around = pathAround(member);
    members.set(around, (members.get(around) ?? new Set()).add(member));
  }
}

function readFields(connection: Connection, job: string): Field[] {
  return drizzle(connection).select().from(fields).where(eq(fields.job, job)).all();
}

function prepareUpsert(connection: Connection) {
  const changing = ['types', 'nullable', 'lastSeenAt', 'example', 'walkId'] as const;
  return prepare(
    connection,
    drizzle(connection)
      .insert(fields)
      .values(placeholders(fields, ['job', 'column', 'path', 'firstSeenAt', ...changing]))
      .onConflictDoUpdate({ target: [fields.job, fields.column], set: excluded(fields, changing) }),
  );
}
