/** Which of the fields that a page shows for the first time get a column of their own. */

import type { SeenField } from '../../validate/checked.ts';
import { jsonPath } from './columns.ts';

/** SQLite allows 2,000 columns; people read fewer. */
export const MOST_COLUMNS = 300;
/** An object that has shown more members is a map rather than a record, and is kept as JSON from then on. */
export const MOST_MEMBERS = 100;
const LONGEST_PATH = 500;

export type Admission = {
  admitted: { path: string; field: SeenField }[];
  /** Why the others are found in `_body` alone. */
  refusals: { path: string; reason: string }[];
};

/** The fields that have columns already. */
export type Present = {
  count(): number;
  has(path: string): boolean;
  membersOf(object: string): ReadonlySet<string>;
};

export function admit(unseen: readonly SeenField[], present: Present): Admission {
  const isMap = mapFinder(unseen, present);
  const admitted = new Map<string, SeenField>();
  const refusals = new Map<string, { path: string; reason: string }>();
  const refuse = (path: string, reason: string) => refusals.set(`${path} ${reason}`, { path, reason });
  for (const seen of inOrder(unseen, MOST_COLUMNS - present.count())) {
    const map = seen.path.findIndex((_, at) => at > 0 && isMap(jsonPath(seen.path.slice(0, at))));
    const field = map > 0 ? wholeObject(seen.path.slice(0, map)) : seen;
    const path = jsonPath(field.path);
    // Null where other rows have an object, whose members have columns.
    const isAbsentObject = field.types.length === 0 && present.membersOf(path).size > 0;
    if (present.has(path) || admitted.has(path) || isAbsentObject) continue;
    if (path.length > LONGEST_PATH) refuse('$', `a path of more than ${LONGEST_PATH} characters`);
    else if (present.count() + admitted.size >= MOST_COLUMNS) refuse('$', `more than ${MOST_COLUMNS} fields`);
    else {
      admitted.set(path, field);
      if (map > 0) refuse(path, `more than ${MOST_MEMBERS} members: kept as one column of JSON`);
    }
  }
  return {
    admitted: [...admitted].map(([path, field]) => ({ path, field })),
    refusals: [...refusals.values()],
  };
}

/** As they come where there is room for all; else those above first, lest one object crowd out its neighbours. */
function inOrder(unseen: readonly SeenField[], room: number): readonly SeenField[] {
  if (unseen.length <= room) return unseen;
  return [...unseen].sort((one, other) => one.path.length - other.path.length);
}

const wholeObject = (path: readonly string[]): SeenField => ({
  path,
  types: ['object'],
  values: 0,
  example: undefined,
});

function mapFinder(unseen: readonly SeenField[], present: Present): (object: string) => boolean {
  const members = new Map<string, Set<string>>();
  for (const { path } of unseen)
    for (let level = 1; level < path.length; level += 1) {
      const object = jsonPath(path.slice(0, level));
      const together = members.get(object) ?? new Set(present.membersOf(object));
      members.set(object, together.add(jsonPath(path.slice(0, level + 1))));
    }
  return (object) => (members.get(object)?.size ?? 0) > MOST_MEMBERS;
}
