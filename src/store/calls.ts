/** Each call to the API, and what the governor has learnt from them. */

import type { Call } from '../api/response.ts';
import { urlOf } from '../api.ts';
import { isoTime } from '../base/clock.ts';
import { PAGE_ROWS } from '../walk/checkpoint.ts';
import { obstacleOf, type Trouble } from '../walk/obstacles.ts';
import { type Connection, valueIn } from './connection.ts';
import { guarded } from './failure.ts';
import { ERROR_OF_NO_ANSWER, NO_ANSWER, NOT_STOPPED_BY_US } from './sql.ts';

/** Returns what keeps the record of a call. */
export function callRecorder(connection: Connection): (call: Call) => void {
  const insert = connection.prepare<[Call]>(
    `INSERT INTO requests (at, job, walk_id, url, status, ms, bytes, request_id, rate_limit, rate_remaining, error_code)
     VALUES (:at, :job, :walkId, :url, :status, :ms, :bytes, :requestId, :rateLimit, :rateRemaining, :errorCode)`,
  );
  return (call) => void insert.run(call);
}

/** SQL over `requests`. */
const BROUGHT_A_PAGE = 'coalesce(status = 200 AND error_code IS NULL, 0)';

/** Returns what reads why the next page of a walk has not come, in the run that begins now. */
export function troubleReader(connection: Connection, path: string, walkId: number) {
  type Last = Pick<Call, 'status' | 'errorCode'> & { id: number };
  const before = valueIn<number>(connection, 'SELECT max(id) FROM requests') ?? 0;
  const last = connection.prepare<[number, string, number], Last>(
    `SELECT id, status, error_code AS errorCode FROM requests WHERE walk_id = ? AND url = ? AND id > ? ORDER BY id DESC LIMIT 1`,
  );
  const countSlow = connection
    .prepare<[number, string], number>(
      'SELECT count(*) FROM requests WHERE walk_id = ? AND url = ? AND status IN (502, 504)',
    )
    .pluck();
  const answered = connection
    .prepare<[string, number, number], 0 | 1>(
      `SELECT EXISTS (SELECT 1 FROM requests WHERE url = ? AND ${BROUGHT_A_PAGE} AND id >
         (SELECT max(id) FROM requests WHERE walk_id = ? AND id <= ?))`,
    )
    .pluck();
  const head = urlOf(path, { offset: 0, limit: PAGE_ROWS });
  return (query: { offset: number; limit: number }): Trouble => {
    const url = urlOf(path, query);
    const call = last.get(walkId, url, before);
    return {
      obstacle: call ? obstacleOf(call) : 'other',
      timesSlow: countSlow.get(walkId, url) ?? 0,
      answersHead: answered.get(head, walkId, before) === 1,
    };
  };
}

/** A call that got no answer: its `id` in `requests`, and the code of the error. */
type Unanswered = { id: number; code: string };

/** Returns what reads the latest call, if it got no answer; else null. */
export function silenceReader(connection: Connection): () => Unanswered | null {
  const latest = connection.prepare<[], Unanswered & { isUnanswered: 0 | 1 }>(
    `SELECT id, ${ERROR_OF_NO_ANSWER} AS code, ${NO_ANSWER} AS isUnanswered FROM requests WHERE ${NOT_STOPPED_BY_US} ORDER BY at DESC, id DESC LIMIT 1`,
  );
  return () => {
    const call = latest.get();
    return call?.isUnanswered ? call : null;
  };
}

/** Shared by every process that opens this mirror. */
type GovernorState = {
  /** Undefined where there is none. */
  read(): unknown;
  /** Reads the state (undefined at first) and keeps what it becomes, where it changed, in one short transaction. */
  transact<State, Result>(change: (state: unknown) => { state?: State; result: Result }): Result;
};

export function openGovernorState(connection: Connection, now: () => number): GovernorState {
  const read = connection.prepare<[], string>('SELECT state FROM _governor WHERE id = 1').pluck();
  const write = connection.prepare<[string, string]>(
    `INSERT INTO _governor (id, state, updated_at) VALUES (1, ?, ?)
     ON CONFLICT DO UPDATE SET state = excluded.state, updated_at = excluded.updated_at`,
  );
  const stateNow = () => {
    const kept = read.get();
    return kept === undefined ? undefined : JSON.parse(kept);
  };
  const atomically = connection.transaction((work: () => unknown) => work()).immediate;
  return {
    read: () => guarded(connection.name, stateNow),
    transact: (change) =>
      guarded(connection.name, () =>
        atomically(() => {
          const { state, result } = change(stateNow());
          if (state !== undefined) write.run(JSON.stringify(state), isoTime(now()));
          return result;
        }),
      ) as ReturnType<typeof change>['result'],
  };
}
