/** What the governor has learnt, shared by every process that opens this mirror. */

import { drizzle } from 'drizzle-orm/better-sqlite3';
import { isoTime } from '../clock.ts';
import { openConnection } from './connection.ts';
import { guarded } from './failure.ts';
import { governor } from './schema.ts';

export type GovernorState = {
  /** Reads the state (undefined at first), changes it and keeps it, in one short transaction. */
  transact<State, Result>(change: (state: unknown) => { state: State; result: Result }): Result;
  close(): void;
};

/**
 * A connection of its own, since a reservation before each call needs to outlive a crash of this process but
 * not a power cut.
 */
export function openGovernorState(file: string, now: () => number): GovernorState {
  const connection = openConnection(file, 'normal');
  const db = drizzle(connection);
  const read = connection.prepare<[], string>('SELECT state FROM governor WHERE id = 1').pluck();
  const atomically = connection.transaction((work: () => unknown) => work()).immediate;
  const write = (state: string) =>
    db
      .insert(governor)
      .values({ id: 1, state, updatedAt: isoTime(now()) })
      .onConflictDoUpdate({ target: governor.id, set: { state, updatedAt: isoTime(now()) } })
      .run();
  return {
    transact: (change) =>
      guarded(file, () =>
        atomically(() => {
          const kept = read.get();
          const { state, result } = change(kept === undefined ? undefined : JSON.parse(kept));
          write(JSON.stringify(state));
          return result;
        }),
      ) as ReturnType<typeof change>['result'],
    close: () => void connection.close(),
  };
}
