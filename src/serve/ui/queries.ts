/** Queries in SQL: each is a call of its account, waits for its turn, and has a query process. The bytes of the process are passed on as they are. */

import { setTimeout as sleep } from 'node:timers/promises';
import { type Clock, isoTime } from '../../clock.ts';
import { Failure } from '../../errors.ts';
import type { Call } from '../http/handler.ts';
import type { HttpResponse, StreamedResponse } from '../http/response.ts';
import { abortSignalOf, ClientGone } from '../http/stream.ts';
import { type Admission, type Caller, isRefused, type Permit, type Refusal } from '../service/admission.ts';
import type { Loan, QueryProcesses } from './query-processes.ts';
import { BadRequest, busyResponse, failedResponse, readJson, readLimit, readQuestion } from './requests.ts';
import type { Viewer } from './sessions.ts';
import type { QueryLine } from './wire.ts';

/** What queries and downloads share. */
export type QueryParts = {
  readonly dir: string;
  /** The mirrored tables with their jobs. */
  readonly tables: Readonly<Record<string, string>>;
  readonly turns: QueryTurns;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  /** Called with errors that must not happen. */
  onError(thrown: unknown): void;
};

/** A connection without a byte for longer than the service, or a proxy, allows would be cut while SQLite computes. */
const KEEP_ALIVE_MS = 10_000;

/**
 * @param timeoutMs how long a query may take, reading its rows included.
 * @throws BadRequest
 */
export async function respondToQuery(
  call: Call,
  viewer: Viewer,
  { dir, tables, turns, clock, onError }: QueryParts,
  timeoutMs: number,
): Promise<StreamedResponse> {
  const startedAt = clock.monotonic();
  const body = await readJson(call);
  const limit = readLimit(body);
  const headers = { 'Content-Type': 'application/x-ndjson', 'Cache-Control': 'no-store' };
  const question = readQuestion(body, clock.now());
  const turn = await turns.take(call, viewer);
  if ('status' in turn) return turn;
  return {
    status: 200,
    headers,
    async body(write) {
      // Between two pieces only: a piece may end in the middle of a line.
      let isBetween = true;
      const keepAlive = setInterval(() => {
        if (isBetween) void write('\n').catch(() => undefined);
      }, KEEP_ALIVE_MS);
      const answer = async () => {
        try {
          return await turn.queries.lines(
            { dir, tables, ...question },
            limit,
            { signal: turn.signal, now: clock.now, timeoutMs },
            ({ columns, sources, seq, notes }) => {
              const named = columns.map(({ name, type }) => ({ name, type }));
              return write(lineOf({ opened: { columns: named, sources, seq, notes } }));
            },
            async (piece) => {
              isBetween = false;
              await write(piece);
              isBetween = piece.at(-1) === NEWLINE;
            },
          );
        } catch (thrown) {
          throw turn.explain(thrown);
        } finally {
          clearInterval(keepAlive);
          // Before anything more is written: another viewer may wait for the process, and this one not read.
          turn.end();
        }
      };
      try {
        const end = await answer();
        await write(lineOf({ end: { ...end, ms: Math.round(clock.monotonic() - startedAt) } }));
      } catch (thrown) {
        if (!(thrown instanceof Failure)) throw thrown;
        if (thrown.kind === 'bug') onError(thrown);
        await write(`${isBetween ? '' : '\n'}${lineOf(failedLine(thrown))}`);
      }
    },
  };
}

/**
 * The same as one list of JSON, by an address that can be sent to others: `?sql=…&params={…}&asOf=…`. All rows are in it.
 * @throws BadRequest, and Failure for SQL that is wrong.
 */
export async function respondWithJson(
  call: Call,
  viewer: Viewer,
  { dir, tables, turns, clock }: QueryParts,
  timeoutMs: number,
): Promise<StreamedResponse> {
  const { sql, params = '{}', asOf = null } = Object.fromEntries(call.query);
  const question = readQuestion({ sql, params: parseObject(params), asOf }, clock.now());
  const turn = await turns.take(call, viewer);
  if ('status' in turn) return turn;
  const asked = { dir, tables, ...question };
  const bounds = { signal: turn.signal, now: clock.now, timeoutMs };
  try {
    // What is wrong shows with the first row, while it can still be answered in words.
    await turn.queries.check(asked, bounds);
  } catch (thrown) {
    turn.end();
    throw turn.explain(thrown);
  }
  const order = { format: 'json', exact: false, ...question, job: null, since: null } as const;
  return {
    status: 200,
    headers: { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' },
    async body(write) {
      try {
        await turn.queries.file(asked, { ...order, exportedAt: isoTime(clock.now()), by: '' }, bounds, write);
      } catch (thrown) {
        const failure = turn.explain(thrown);
        if (!(failure instanceof Failure) || failure.kind === 'bug') throw failure;
        // The connection is cut: half a list must not pass for a whole one.
        throw new ClientGone();
      } finally {
        turn.end();
      }
    },
  };
}

function parseObject(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new BadRequest('params must be an object in JSON.');
  }
}

const NEWLINE = 10;

const lineOf = (line: QueryLine) => `${JSON.stringify(line)}\n`;

function failedLine({ kind, message }: Failure): QueryLine {
  return {
    failed: { kind, message: kind === 'bug' ? 'a mistake of market-mirror: its log has more' : message },
  };
}

/** A query process for one query, and the call that it costs its account. */
type QueryTurn = Omit<Loan, 'giveBack'> & {
  /** Gives the process back. */
  end(): void;
};

type QueryTurns = ReturnType<typeof openQueryTurns>;

/** How long a query waits for the limits of its account. */
const LIMITS_WAIT_MS = 60_000;

/** How often they are tried again. */
const LIMITS_TRY_MS = 100;

export function openQueryTurns(
  processes: Pick<QueryProcesses, 'take'>,
  admission: Pick<Admission, 'enter'>,
  clock: Pick<Clock, 'monotonic'>,
) {
  async function enter(caller: Caller, signal: AbortSignal): Promise<Permit> {
    const until = clock.monotonic() + LIMITS_WAIT_MS;
    for (;;) {
      const permit = admission.enter(caller);
      if (!isRefused(permit)) return permit;
      const isInTime = clock.monotonic() + (permit.retryAfter ?? 0) * 1_000 <= until;
      if (permit.limit === null || !isInTime) throw new LimitError(permit);
      await sleep(LIMITS_TRY_MS, undefined, { signal }).catch(() => {
        throw new ClientGone();
      });
    }
  }

  return {
    /**
     * Waits for the limits of the account, and for a process.
     * @throws ClientGone
     * @returns a response where there is none: 429 where the limits allow it too late, 503 where too many wait or the query had to
     * give way.
     */
    async take(call: Call, { owner, caller }: Viewer): Promise<QueryTurn | HttpResponse> {
      let permit: Permit | undefined;
      const enterFirst = async (signal: AbortSignal) => {
        if (caller === null) return;
        Object.assign(call, { keyId: caller.id, account: caller.account });
        permit = await enter(caller, signal);
      };
      try {
        const loan = await processes.take(owner, abortSignalOf(call), enterFirst);
        return loan ? turnOf(loan, permit) : busyResponse('questions');
      } catch (thrown) {
        permit?.refund();
        permit?.leave();
        if (thrown instanceof LimitError) {
          const { status, body, retryAfter, limit } = thrown.refusal;
          call.limit = limit;
          return failedResponse(status, 'incomplete', body.message, retryAfter);
        }
        if (!(thrown instanceof Failure)) throw thrown;
        return failedResponse(503, thrown.kind, thrown.message);
      }
    },
  };
}

class LimitError extends Error {
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(refusal.body.error);
    this.refusal = refusal;
  }
}

function turnOf({ giveBack, explain, ...loan }: Loan, permit: Permit | undefined): QueryTurn {
  return {
    ...loan,
    explain(thrown) {
      const failure = explain(thrown);
      // A mistake in the query costs nothing, as an error of the API.
      if (failure instanceof Failure && failure.kind === 'usage') permit?.refund();
      return failure;
    },
    end() {
      permit?.leave();
      giveBack();
    },
  };
}
