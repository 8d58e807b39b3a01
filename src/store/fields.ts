/**
 * The fields of rows without a contract: each becomes a column when it is first met, is described in `fields`, and is watched for
 * drift. Its column is virtual, so stored rows need no change.
 */

import { storedName } from '../base/properties.ts';
import type { Job } from '../job.ts';
import type { Drift, FieldPath, FieldType, PageFields, SeenField } from '../validate/checked.ts';
import { MAX_MEMBERS } from '../validate/values.ts';
import type { Connection } from './connection.ts';
import type { DriftLog, Origin } from './drift.ts';
import { quoted } from './sql.ts';
import { ensureAnalystViews, ensureShown } from './views.ts';
import { lastWalk } from './walks.ts';

/** The fields of a dataset as one walk watches them. */
export function watchFields(connection: Connection, job: Job, walkId: number, drift: DriftLog) {
  const known = openKnownFields(connection, job);
  const isFull = `status = 'complete' AND renewal_of IS NULL AND id < ${walkId}`;
  const before = lastWalk(connection, job.name, isFull);
  const anyRow = connection.prepare(`SELECT 1 FROM ${quoted(job.rows)} LIMIT 1`);
  let latest: Origin | undefined;
  let drifted = 0;

  function noteDrift(kind: Drift['kind'], path: string, detail: string, origin: Origin): void {
    drift.note({ kind, path, detail, times: 1 }, origin);
    drifted += 1;
  }

  /** To the first whole walk everything would be new. */
  function noteNew(kind: 'new-field' | 'new-type', path: string, detail: string, origin: Origin): void {
    if (before) noteDrift(kind, path, detail, origin);
  }

  /** Writes a known field that this walk first meets, or that shows something new. */
  function meet(field: Field, seen: Omit<SeenField, 'path'>, rows: number, origin: Origin): void {
    const nullable = field.nullable || seen.values < rows;
    const added = seen.types.filter((type) => !field.types.includes(type));
    const example = field.example ?? exampleOf(seen.example);
    const isMetHere = field.walkId === walkId;
    if (isMetHere && field.nullable === nullable && added.length === 0 && field.example === example) return;
    const types = [...field.types, ...added];
    known.keep({
      ...{ ...field, types, nullable, example, walkId },
      lastSeenAt: isMetHere ? field.lastSeenAt : origin.now,
    });
    const families = field.types.map(familyOf);
    for (const type of added)
      if (families.length > 0 && !families.includes(familyOf(type)))
        noteNew('new-type', field.path, type, origin);
    if (added.includes('array')) ensureAnalystViews(connection, job);
  }

  function discover(unseen: readonly SeenField[], rows: number, origin: Origin): void {
    const { admitted, refusals } = admit(unseen, known);
    const added = admitted.map(({ path, field }) => {
      const column = known.nameColumn(field.path);
      known.keep({
        ...{ path, column, types: field.types, walkId, example: exampleOf(field.example) },
        nullable: field.values < rows || anyRow.get() !== undefined,
        firstSeenAt: origin.now,
        lastSeenAt: origin.now,
      });
      noteNew('new-field', path, column, origin);
      return { path, column };
    });
    if (added.length > 0) addColumns(connection, job, added);
    for (const { path, reason } of refusals) noteDrift('no-column', path, reason, origin);
  }

  return {
    /** Takes in the fields of a page; call it in its transaction, before its rows are written. Returns how many drifts it noted. */
    note({ rows, fields }: PageFields, origin: Origin): number {
      drifted = 0;
      if (rows === 0) return 0;
      latest = origin;
      const met = new Set<string>();
      const look = (path: string, seen: Omit<SeenField, 'path'>) => {
        const field = known.get(path);
        if (!field) return false;
        met.add(path);
        meet(field, seen, rows, origin);
        return true;
      };
      const unseen = fields.filter((seen) => !look(jsonPath(seen.path), seen));
      for (const object of new Set(fields.flatMap(({ path }) => objectAround(path) ?? [])))
        look(object, { types: ['object'], values: 0, example: undefined });
      for (const field of known.all())
        if (!field.nullable && !met.has(field.path)) known.keep({ ...field, nullable: true });
      if (unseen.length > 0) discover(unseen, rows, origin);
      return drifted;
    },
    /** Notes the fields that the last whole walk met, but not this one. Returns how many drifts it noted. */
    noteVanished(): number {
      drifted = 0;
      // A walk without rows says nothing of their fields.
      if (!latest) return 0;
      // A glance beside this walk has a greater id: what it met has not vanished.
      for (const field of known.all())
        if (field.walkId < walkId && field.walkId >= (before?.id ?? 0))
          noteDrift('vanished-field', field.path, '', latest);
      return drifted;
    },
  };
}

/** Whole numbers and others are one type: a price may happen to be whole. */
const familyOf = (type: FieldType) => (type === 'integer' || type === 'big-integer' ? 'number' : type);

const EXAMPLE_CHARACTERS = 100;

function exampleOf(value: unknown): string | null {
  if (value === undefined) return null;
  const text = JSON.stringify(typeof value === 'string' ? value.slice(0, EXAMPLE_CHARACTERS) : value);
  return text.length > EXAMPLE_CHARACTERS ? `${text.slice(0, EXAMPLE_CHARACTERS).toWellFormed()}…` : text;
}

/** A row of `fields`. */
type Field = {
  column: string;
  path: string;
  types: readonly FieldType[];
  nullable: boolean;
  firstSeenAt: string;
  lastSeenAt: string;
  example: string | null;
  walkId: number;
};

type KnownFields = ReturnType<typeof openKnownFields>;

/** The fields that have columns already. */
function openKnownFields(connection: Connection, job: Job) {
  const stored = connection
    .prepare<[string], Omit<Field, 'types' | 'nullable'> & { types: string; nullable: number }>(
      `SELECT "column", path, types, nullable, first_seen_at AS firstSeenAt, last_seen_at AS lastSeenAt, example,
         walk_id AS walkId FROM fields WHERE job = ?`,
    )
    .all(job.name);
  const upsert = connection.prepare(
    `INSERT INTO fields (job, "column", path, types, nullable, first_seen_at, last_seen_at, example, walk_id)
     VALUES (:job, :column, :path, :types, :nullable, :firstSeenAt, :lastSeenAt, :example, :walkId)
     ON CONFLICT DO UPDATE SET types = excluded.types, nullable = excluded.nullable,
       last_seen_at = excluded.last_seen_at, example = excluded.example, walk_id = excluded.walk_id`,
  );
  const names = namesIn(connection, job.table);
  const known = new Map<string, Field>();
  for (const row of stored)
    known.set(row.path, { ...row, types: JSON.parse(row.types), nullable: row.nullable === 1 });

  return {
    count: () => known.size,
    has: (path: string) => known.has(path),
    get: (path: string) => known.get(path),
    all: () => known.values(),
    /** The paths of fields within an object. */
    membersOf: (object: string) =>
      [...known.keys()].filter((path) => path !== object && pathAround(path) === object),
    nameColumn(path: FieldPath): string {
      const name = columnName(path, names);
      names.add(name);
      return name;
    },
    /** Writes what is known of a field. */
    keep(field: Field): void {
      const { types, nullable } = field;
      upsert.run({ ...field, job: job.name, types: JSON.stringify(types), nullable: Number(nullable) });
      known.set(field.path, field);
    },
  };
}

/** SQLite allows 2,000 columns; people read fewer. */
const MAX_FIELD_COLUMNS = 300;
const MAX_PATH_CHARACTERS = 500;

/**
 * Which fields that a page shows for the first time get a column, and why the others are in `_body` alone. An object of too many
 * members is a map: it gets one column.
 */
function admit(
  unseen: readonly SeenField[],
  known: KnownFields,
): { admitted: { path: string; field: SeenField }[]; refusals: { path: string; reason: string }[] } {
  const members = new Map<string, Set<string>>();
  for (const { path } of unseen) {
    const object = objectAround(path);
    if (object === undefined) continue;
    const together = members.get(object) ?? new Set(known.membersOf(object));
    members.set(object, together.add(jsonPath(path)));
  }
  const isMap = (object: string | undefined) =>
    object !== undefined && (members.get(object)?.size ?? 0) > MAX_MEMBERS;
  const admitted = new Map<string, SeenField>();
  const refusals = new Map<string, { path: string; reason: string }>();
  const refuse = (path: string, reason: string) => refusals.set(`${path} ${reason}`, { path, reason });
  // Without room for all, the outer ones come first, lest one object crowd out its neighbours.
  const isShort = unseen.length > MAX_FIELD_COLUMNS - known.count();
  const inOrder = isShort ? unseen.toSorted((one, other) => one.path.length - other.path.length) : unseen;
  for (const seen of inOrder) {
    const ofMap = isMap(objectAround(seen.path));
    const field: SeenField = ofMap
      ? { path: seen.path.slice(0, 1), types: ['object'], values: 0, example: undefined }
      : seen;
    const path = jsonPath(field.path);
    // Null where other rows have an object, whose members have columns.
    const isAbsentObject = field.types.length === 0 && known.membersOf(path).length > 0;
    if (known.has(path) || admitted.has(path) || isAbsentObject) continue;
    if (path.length > MAX_PATH_CHARACTERS)
      refuse('$', `a path of more than ${MAX_PATH_CHARACTERS} characters`);
    else if (known.count() + admitted.size >= MAX_FIELD_COLUMNS)
      refuse('$', `more than ${MAX_FIELD_COLUMNS} fields`);
    else {
      admitted.set(path, field);
      if (ofMap) refuse(path, `more than ${MAX_MEMBERS} members: kept as one column of JSON`);
    }
  }
  return {
    admitted: [...admitted].map(([path, field]) => ({ path, field })),
    refusals: [...refusals.values()],
  };
}

/** The path of the object that a field is a member of; undefined for a field of the row itself. */
const objectAround = (path: FieldPath): string | undefined =>
  path.length > 1 ? jsonPath(path.slice(0, -1)) : undefined;

/** The path of a field as SQLite's JSON functions read it: names that are no plain words are quoted, as JSON. */
export function jsonPath(names: readonly string[]): string {
  return names.reduce(
    (around, name) => around + (/^[A-Za-z_]\w*$/.test(name) ? `.${name}` : `.${JSON.stringify(name)}`),
    '$',
  );
}

/** The path of the object around a field; `$` is the row. */
export function pathAround(path: string): string {
  return path.replace(/\.(?:\w+|"(?:[^"\\]|\\.)*")$/, '');
}

const NAME_CHARACTERS = 60;
const PART_CHARACTERS = 100;

/**
 * The name of a field's column: snake case, the names of its path joined by `_`. It begins neither with `_`, as the mirror's own
 * columns do, nor with a digit; a word of SQL ends in `_`, a name that is taken in a number.
 * @param used names in lower case, since SQLite does not tell `Id` from `id`.
 */
export function columnName(path: readonly string[], used: ReadonlySet<string>): string {
  const parts = path.map(snakeCase).filter(Boolean);
  const joined = [...parts.join('_')].slice(0, NAME_CHARACTERS).join('').replace(/_+$/, '') || 'field';
  const plain = /^\p{N}/u.test(joined) ? `field_${joined}` : joined;
  const name = reservedWords.has(plain) ? `${plain}_` : plain;
  for (let count = 1; ; count += 1) {
    const numbered = count === 1 ? name : `${name.replace(/_$/, '')}_${count}`;
    if (!used.has(numbered)) return numbered;
  }
}

function snakeCase(name: string): string {
  return name
    .slice(0, PART_CHARACTERS)
    .replace(/([\p{Ll}\p{N}])(\p{Lu})/gu, '$1_$2')
    .replace(/(\p{Lu})(\p{Lu}\p{Ll})/gu, '$1_$2')
    .replace(/[^\p{L}\p{N}\p{M}]+/gu, '_')
    .replace(/^_+|_+$/g, '')
    .toLowerCase();
}

/** Words that SQLite does not take as a bare name, and names of the rowid and of truth, which a column would hide. */
const reservedWords = new Set(
  (
    'add all alter and as autoincrement between case cast check collate commit constraint create current_date ' +
    'current_time current_timestamp default deferrable delete distinct drop else escape except exists foreign ' +
    'from group having in index insert intersect into is isnull join limit not nothing notnull null on or order ' +
    'primary raise references returning select set table then to transaction union unique update using values ' +
    'when where rowid oid true false'
  ).split(' '),
);

type FieldColumn = { column: string; path: string };

/** Adds the columns that `fields` lists but a table lacks: a migration that rebuilds a table drops them. */
export function ensureColumns(connection: Connection, job: Job): void {
  const listed = connection
    .prepare<[string], FieldColumn>('SELECT "column", path FROM fields WHERE job = ? ORDER BY rowid')
    .all(job.name);
  addColumns(connection, job, listed);
}

/**
 * Adds the columns that read these paths from `_body` to the job's rows and versions. Views and triggers are dropped meanwhile, and
 * made anew: SQLite reads the whole schema again for each column, with them in three times the time.
 */
function addColumns(connection: Connection, job: Job, fields: readonly FieldColumn[]): void {
  const lacking = [job.rows, job.versions].flatMap((table) => {
    if (table === null) return [];
    const present = namesIn(connection, table);
    return fields
      .filter(({ column }) => !present.has(storedName(column)))
      .map(({ column, path }) => ({ table, column: storedName(column), path }));
  });
  if (lacking.length === 0) return;
  const dropped = connection
    .prepare<[], { type: string; name: string; sql: string }>(
      `SELECT type, name, sql FROM sqlite_master WHERE type IN ('view', 'trigger') ORDER BY type DESC`,
    )
    .all();
  for (const { type, name } of dropped) connection.exec(`DROP ${type} IF EXISTS ${quoted(name)}`);
  for (const { table, column, path } of lacking) {
    const literal = `'${path.replaceAll("'", "''")}'`;
    connection.exec(
      `ALTER TABLE ${quoted(table)} ADD COLUMN ${quoted(column)} GENERATED ALWAYS AS (json_extract(_body, ${literal})) VIRTUAL`,
    );
  }
  for (const { sql } of dropped) connection.exec(sql);
  ensureShown(connection, job);
  ensureAnalystViews(connection, job);
}

/** The names of the columns of a table, in lower case. */
function namesIn(connection: Connection, table: string): Set<string> {
  const names = connection.prepare<[string], string>('SELECT lower(name) FROM pragma_table_xinfo(?)').pluck();
  return new Set(names.all(table));
}
