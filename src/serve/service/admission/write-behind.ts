/** Counts and last uses on their way to the database: once a second, in one transaction that waits for no disk. */

import { isoTime } from '../../../clock.ts';
import { type Connection, forgetPages, guarded, relaxed } from '../../../store/sqlite-files.ts';
import type { AccountState } from '../limits/account.ts';
import { type Tell, tellingOnce } from '../trouble.ts';

/** At most so much of what was granted is forgotten where the process is killed. */
const WRITTEN_EVERY_MS = 1_000;

/** Runs `work` after so long; does not keep the process alive. */
export type Later = (work: () => void, ms: number) => void;

const byTimer: Later = (work, ms) => void setTimeout(work, ms).unref();

/** What others have to write. `write` is called in the transaction, and again where that fails; `written` when it is kept. */
export type Waiting = { isEmpty(): boolean; write(): void; written(): void };

export type WriteBehind = {
  count(account: string, state: AccountState, at: number): void;
  /** @param at epoch milliseconds by the machine's clock. */
  used(key: string, at: number): void;
  /** Something waits with the others. */
  due(): void;
  /** Writes what waits; what cannot be written goes on waiting. */
  flush(): void;
};

export function writeBehind(
  connection: Connection,
  tell: Tell,
  later: Later = byTimer,
  others: readonly Waiting[] = [],
): WriteBehind {
  const keepCount = connection.prepare(
    `INSERT INTO counters (account, at, state) VALUES (?, ?, ?)
     ON CONFLICT (account) DO UPDATE SET at = excluded.at, state = excluded.state`,
  );
  const keepUse = connection.prepare('UPDATE keys SET last_used_at = ? WHERE id = ?');
  const counts = new Map<string, { state: AccountState; at: number }>();
  const uses = new Map<string, number>();
  const writeAll = connection.transaction(() => {
    for (const [account, { state, at }] of counts) keepCount.run(account, at, JSON.stringify(state));
    for (const [key, at] of uses) keepUse.run(isoTime(at), key);
    for (const other of others) other.write();
  });
  const attempt = tellingOnce(tell);
  const isEmpty = () => others.every((other) => other.isEmpty());
  let isDue = false;

  function flush(): void {
    isDue = false;
    if (counts.size === 0 && uses.size === 0 && isEmpty()) return;
    const isWritten = attempt(() =>
      guarded(connection.name, () => {
        relaxed(connection, () => writeAll.immediate());
        return true as const;
      }),
    );
    if (isWritten) {
      counts.clear();
      uses.clear();
      for (const other of others) other.written();
    } else forgetPages(connection);
    if (!isWritten || !isEmpty()) schedule();
  }

  function schedule(): void {
    if (isDue) return;
    isDue = true;
    later(() => connection.open && flush(), WRITTEN_EVERY_MS);
  }

  return {
    flush,
    due: schedule,
    count(account, state, at) {
      counts.set(account, { state, at });
      schedule();
    },
    used(key, at) {
      uses.set(key, at);
      schedule();
    },
  };
}
