/** Queries in SQL: each is a call of its account, and has a process of the pool. The bytes of the process are passed on as they are. */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../base/clock.ts';
import { Failure } from '../../base/errors.ts';
import { type Admission, type Caller, isRefused, type Permit, type Refusal } from '../access/admission.ts';
import type { Viewer } from '../access/sessions.ts';
import type { Loan, Pool } from '../answers/pool.ts';
import type { Call } from '../http/handler.ts';
import { ClientGone } from '../http/request.ts';
import type { HttpResponse, StreamedResponse } from '../http/response.ts';
import { abortSignalOf } from '../http/response.ts';
import {
  busyResponse,
  failedResponse,
  readJson,
  readLimit,
  readQuestion,
  type Translate,
} from './requests.ts';
import type { QueryLine } from './wire.ts';

/** What queries and downloads share. */
export type QueryParts = {
  readonly dir: string;
  /** The mirrored tables with their jobs. */
  readonly tables: Readonly<Record<string, string>>;
  readonly turns: QueryTurns;
  readonly translate: Translate;
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
  { dir, tables, turns, translate, clock, onError }: QueryParts,
  timeoutMs: number,
): Promise<StreamedResponse> {
  const startedAt = clock.monotonic();
  const body = await readJson(call);
  const limit = readLimit(body);
  const headers = { 'Content-Type': 'application/x-ndjson', 'Cache-Control': 'no-store' };
  const { whole, ...question } = readQuestion(body, clock.now(), translate);
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
            { signal: abortSignalOf(call), now: clock.now, timeoutMs },
            ({ columns, sources, seq, notes }) => {
              const named = columns.map(({ name, type }) => ({ name, type }));
              const said = whole && { whole };
              return write(lineOf({ opened: { columns: named, sources, seq, notes, ...said } }));
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
          // Before anything more is written: another may wait for the process, and this one not read.
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

const NEWLINE = 10;

const lineOf = (line: QueryLine) => `${JSON.stringify(line)}\n`;

function failedLine({ kind, message }: Failure): QueryLine {
  return {
    failed: { kind, message: kind === 'bug' ? 'a mistake of market-mirror: its log has more' : message },
  };
}

/** A process for one query, and the call that it costs its account. */
type QueryTurn = Pick<Loan, 'queries'> & {
  /** @returns the error to show: a mistake in the query costs nothing, as an error of the API. */
  explain(thrown: unknown): unknown;
  /** Gives the process back. */
  end(): void;
};

type QueryTurns = ReturnType<typeof openQueryTurns>;

/** How long a query waits for the limits of its account. */
const LIMITS_WAIT_MS = 60_000;

/** How often they are tried again. */
const LIMITS_TRY_MS = 100;

export function openQueryTurns(
  pool: Pick<Pool, 'take'>,
  admission: Pick<Admission, 'enter'>,
  clock: Pick<Clock, 'monotonic'>,
) {
  async function enter(caller: Caller, gone: AbortSignal): Promise<Permit | Refusal> {
    const until = clock.monotonic() + LIMITS_WAIT_MS;
    for (;;) {
      const permit = admission.enter(caller);
      if (!isRefused(permit)) return permit;
      const isInTime = clock.monotonic() + (permit.retryAfter ?? 0) * 1_000 <= until;
      if (permit.limit === null || !isInTime) return permit;
      await sleep(LIMITS_TRY_MS, undefined, { signal: gone }).catch(() => {
        throw new ClientGone();
      });
    }
  }

  return {
    /**
     * Waits for the limits of the account, and for a process.
     * @throws ClientGone
     * @returns a response where there is none: 429 where the limits allow it too late, 503 where too many wait.
     */
    async take(call: Call, { owner, caller }: Viewer): Promise<QueryTurn | HttpResponse> {
      const gone = abortSignalOf(call);
      if (caller) Object.assign(call, { keyId: caller.id, account: caller.account });
      const permit = caller && (await enter(caller, gone));
      if (permit && isRefused(permit)) {
        call.limit = permit.limit;
        return failedResponse(permit.status, 'incomplete', permit.body.message, permit.retryAfter);
      }
      const giveUp = () => {
        permit?.refund();
        permit?.leave();
      };
      const loan = await pool.take(owner, gone).catch((thrown: unknown) => {
        giveUp();
        throw thrown;
      });
      if (!loan) {
        giveUp();
        return busyResponse('questions');
      }
      return {
        queries: loan.queries,
        explain(thrown) {
          if (thrown instanceof Failure && thrown.kind === 'usage') permit?.refund();
          return thrown;
        },
        end() {
          permit?.leave();
          loan.giveBack();
        },
      };
    },
  };
}
