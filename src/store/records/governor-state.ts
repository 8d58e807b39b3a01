/** What the governor has learnt, shared by every process that opens this mirror. */

import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/better-sqlite3';
import { isoTime } from '../../clock.ts';
import { type Connection, relaxed } from '../db/connection.ts';
import { guarded } from '../db/failure.ts';
import { prepare } from '../db/prepare.ts';
import { governor } from '../schema.ts';

export type GovernorState = {
  /** Reads the state (undefined at first), changes it and keeps it, in one short transaction. */
  transact<State, Result>(change: (state: unknown) => { state: State; result: Result }): Result;
};

/** A reservation before each call needs to outlive a crash of this process, but not a power cut. */
export function openGovernorState(connection: Connection, now: () => number): GovernorState {
  const read = connection.prepare<[], string>('SELECT state FROM governor WHERE id = 1').pluck();
  const write = prepareWrite(connection);
  const atomically = connection.transaction((work: () => unknown) => work()).immediate;
  return {
    transact: (change) =>
      guarded(connection.name, () =>
        relaxed(connection, () =>
          atomically(() => {
            const kept = read.get();
            const { state, result } = change(kept === undefined ? undefined : JSON.parse(kept));
            write.run({ state: JSON.stringify(state), updatedAt: isoTime(now()) });
            return result;
          }),
        ),
      ) as ReturnType<typeof change>['result'],
  };
}

function prepareWrite(connection: Connection) {
  const values = { state: sql.placeholder('state'), updatedAt: sql.placeholder('updatedAt') };
  const set = { state: sql`excluded.state`, updatedAt: sql`excluded.updated_at` };
  return prepare(
    connection,
    drizzle(connection)
      .insert(governor)
      .values({ id: 1, ...values })
      .onConflictDoUpdate({ target: governor.id, set }),
  );
}
