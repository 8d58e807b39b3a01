/**
 * The fields of datasets whose record shape is not specified: each becomes a column when it is first seen, is
 * described in `fields`, and is watched for drift.
 */

import { type Job, rowsOf } from '../job.ts';
import type { Drift, PageFields, SeenField } from '../validate/checked.ts';
import type { Connection } from './connection.ts';
import type { DriftLog } from './drift.ts';
import { admit } from './fields/admission.ts';
import { addColumns, jsonPath } from './fields/columns.ts';
import { type Field, openKnownFields } from './fields/known-fields.ts';
import type { Origin } from './quarantine.ts';
import { isProof, quoted } from './sql.ts';
import { lastWalk } from './walks.ts';

export { ensureColumns } from './fields/columns.ts';

export type FieldWatch = {
  /**
   * Takes in what a page shows; call in its transaction, before its rows are written. Costs little where it shows
   * nothing new. Returns how many drifts it noted.
   */
  note(page: PageFields, origin: Origin): number;
  /** Whether rows that are as the table holds them have nothing more to show in this walk. */
  isSettled(): boolean;
  /**
   * Ends a walk that has read the whole dataset: a field that the one before met, but no row of this one bears,
   * has vanished. Returns how many drifts it noted.
   */
  conclude(): number;
};

const LONGEST_EXAMPLE = 100;

export function watchFields(connection: Connection, job: Job, walkId: number, drift: DriftLog): FieldWatch {
  const known = openKnownFields(connection, job);
  const isFull = `status = 'complete' AND renewal_of IS NULL AND id < ${walkId}`;
  const before = lastWalk(connection, job.name, isFull);
  const walkBefore = before?.id;
  const tellsAnew = prepareTellsAnew(connection, job.name);
  const anyRow = connection.prepare(`SELECT 1 FROM ${quoted(rowsOf(job))} LIMIT 1`);
  let latest: Origin | undefined;
  let isMet = false;
  /** Asked anew behind each commit: nobody else writes what it is about during a walk. */
  let tells: boolean | undefined;
  let drifted = 0;

  function found(kind: Drift['kind'], path: string, detail: string, origin: Origin): void {
    drift.note({ kind, path, detail, times: 1 }, origin);
    drifted += 1;
  }

  /** To the first whole walk of a dataset, every field and each of its types is new. */
  function foundNew(kind: 'new-field' | 'new-type', path: string, detail: string, origin: Origin): void {
    if (walkBefore !== undefined) found(kind, path, detail, origin);
  }

  /** Writes a known field where this walk has not met it yet, or where it shows something new. */
  function meet(
    field: Field,
    { types, values, example }: Omit<SeenField, 'path'>,
    rows: number,
    origin: Origin,
  ) {
    const nullable = field.nullable || values < rows;
    const added = types.filter((type) => !field.types.includes(type));
    const gainsExample = field.example === null && example !== undefined;
    if (field.walkId === walkId && field.nullable === nullable && added.length === 0 && !gainsExample) return;
    known.keep({
      ...field,
      types: [...field.types, ...added],
      nullable,
      lastSeenAt: field.walkId === walkId ? field.lastSeenAt : origin.now,
      example: field.example ?? exampleOf(example),
      walkId,
    });
    const families = field.types.map(familyOf);
    for (const type of added)
      if (families.length > 0 && !families.includes(familyOf(type)))
        foundNew('new-type', field.path, type, origin);
  }

  function discover(unseen: readonly SeenField[], rows: number, origin: Origin): void {
    const { admitted, refusals } = admit(unseen, known);
    const added = admitted.map(({ path, field }) => {
      const { column } = known.add(field.path, {
        path,
        types: field.types,
        nullable: field.values < rows || anyRow.get() !== undefined,
        firstSeenAt: origin.now,
        lastSeenAt: origin.now,
        example: exampleOf(field.example),
        walkId,
      });
      foundNew('new-field', path, column, origin);
      return { path, column };
    });
    if (added.length > 0) addColumns(connection, job, added);
    for (const { path, reason } of refusals) found('no-column', path, reason, origin);
  }

  return {
    note({ rows, fields, areStored }, origin) {
      tells = undefined;
      if (rows === 0) return 0;
      latest = origin;
      drifted = 0;
      if (areStored) return 0;
      const met = new Set<string>();
      const unseen: SeenField[] = [];
      const look = (path: string, seen: Omit<SeenField, 'path'>) => {
        const field = known.get(path);
        if (!field) return false;
        met.add(path);
        meet(field, seen, rows, origin);
        return true;
      };
      for (const seen of fields) if (!look(jsonPath(seen.path), seen)) unseen.push(seen);
      for (const path of objectsAround(fields))
        look(path, { types: ['object'], values: 0, example: undefined });
      for (const field of known.all())
        if (!field.nullable && !met.has(field.path)) known.keep({ ...field, nullable: true });
      if (unseen.length > 0) discover(unseen, rows, origin);
      return drifted;
    },
    isSettled() {
      // A field that a proof did not meet is in no row that has stayed.
      const from = isProof(before?.verdict ?? null) ? (before?.id ?? 0) : 0;
      isMet ||= [...known.all()].every((field) => field.walkId === walkId || field.walkId < from);
      if (!isMet) return false;
      tells ??= tellsAnew();
      return !tells;
    },
    conclude() {
      drifted = 0;
      // A walk that brought no row says nothing of the fields that rows have.
      if (!latest) return 0;
      // A glance beside this walk has a greater number, and what it met has not vanished.
      for (const field of known.all())
        if (field.walkId < walkId && field.walkId >= (walkBefore ?? 0))
          found('vanished-field', field.path, '', latest);
      return drifted;
    },
  };
}

/** Whether rows of the job differ from what is expected in ways that each walk tells anew. */
function prepareTellsAnew(connection: Connection, job: string): () => boolean {
  const find = connection.prepare<[string]>(
    `SELECT 1 FROM drift WHERE job = ? AND kind IN ('no-column', 'contradicted-key', 'more') LIMIT 1`,
  );
  return () => find.get(job) !== undefined;
}

/** The paths of the objects whose members were seen. */
function objectsAround(fields: readonly SeenField[]): Set<string> {
  const paths = new Set<string>();
  for (const { path } of fields)
    for (let level = 1; level < path.length; level += 1) paths.add(jsonPath(path.slice(0, level)));
  return paths;
}

/** A price that was whole so far and now is not has not changed its type. */
function familyOf(type: string): string {
  return type === 'integer' || type === 'big-integer' ? 'number' : type;
}

function exampleOf(value: unknown): string | null {
  if (value === undefined) return null;
  const text = JSON.stringify(typeof value === 'string' ? value.slice(0, LONGEST_EXAMPLE) : value);
  return text.length > LONGEST_EXAMPLE ? `${text.slice(0, LONGEST_EXAMPLE).toWellFormed()}…` : text;
}
