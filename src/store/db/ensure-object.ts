/** Views and triggers follow the declarations of `jobs/`, so the code keeps them, not the migrations. */

import type { Connection } from './connection.ts';

/** Creates the view or trigger, or replaces one of that name whose definition differs. */
export function ensureObject(
  connection: Connection,
  type: 'view' | 'trigger',
  name: string,
  definition: string,
): void {
  const present = connection
    .prepare<[string, string], string>('SELECT sql FROM sqlite_master WHERE type = ? AND name = ?')
    .pluck()
    .get(type, name);
  if (present === definition) return;
  connection.exec(`DROP ${type} IF EXISTS "${name}"; ${definition}`);
}
