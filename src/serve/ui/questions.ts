/**
 * Questions in SQL: each is a call of its account, waits for its turn, and is answered by a query process that ends with the
 * connection. What the process sends is passed on as it is.
 */

import { setTimeout as sleep } from 'node:timers/promises';
import type { Clock } from '../../clock.ts';
import { Failure } from '../../errors.ts';
import type { PageAnswer, PageAsked } from '../http/app.ts';
import { type Admission, isRefused, type Permit, type Refusal } from '../service/admission.ts';
import { readJson, readLimit, readQuestion } from './asked.ts';
import { busyAnswer, failedAnswer } from './failed.ts';
import type { Loan, QueryProcesses } from './query-processes.ts';
import type { Viewer } from './sessions.ts';
import type { QueryLine } from './wire.ts';

export type QuestionParts = {
  readonly dir: string;
  /** The mirrored tables with their jobs. */
  readonly tables: Readonly<Record<string, string>>;
  readonly turns: Turns;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  /** How long a question may take, reading its rows included. */
  readonly timeoutMs: number;
  /** Told of what must not happen. */
  failed(thrown: unknown): void;
};

/** A connection without a word for longer than the service, or a proxy, allows would be cut while SQLite computes. */
const SIGN_OF_LIFE_MS = 10_000;

/** @throws Unfit for what is no question. */
export async function answerQuestion(
  asked: PageAsked,
  viewer: Viewer,
  { dir, tables, turns, clock, timeoutMs, failed }: QuestionParts,
): Promise<PageAnswer> {
  const startedAt = clock.monotonic();
  const given = await readJson(asked);
  const limit = readLimit(given);
  const headers = { 'Content-Type': 'application/x-ndjson', 'Cache-Control': 'no-store' };
  let question: ReturnType<typeof readQuestion>;
  try {
    question = readQuestion(given, clock.now());
  } catch (thrown) {
    if (!(thrown instanceof Failure)) throw thrown;
    return { status: 200, headers, body: lineOf(failure(thrown)) };
  }
  const turn = await turns.take(asked, viewer);
  if ('status' in turn) return turn;
  return {
    status: 200,
    headers,
    async body(write) {
      const line = (line: QueryLine) => write(lineOf(line));
      // Between two pieces only: a piece may end in the middle of a line.
      let isBetween = true;
      const alive = setInterval(() => {
        if (isBetween) void write('\n').catch(() => undefined);
      }, SIGN_OF_LIFE_MS);
      try {
        const end = await turn.queries.lines(
          { dir, tables, ...question },
          limit,
          { signal: turn.signal, now: clock.now, timeoutMs },
          ({ columns, sources, seq, notes }) => {
            const named = columns.map(({ name, type }) => ({ name, type }));
            return line({ opened: { columns: named, sources, seq, notes } });
          },
          async (piece) => {
            isBetween = piece.at(-1) === NEWLINE;
            await write(piece);
          },
        );
        await line({ end: { ...end, ms: Math.round(clock.monotonic() - startedAt) } });
      } catch (thrown) {
        const told = turn.explain(thrown);
        if (!(told instanceof Failure)) throw told;
        if (told.kind === 'bug') failed(told);
        await write(`${isBetween ? '' : '\n'}${lineOf(failure(told))}`);
      } finally {
        clearInterval(alive);
        turn.end();
      }
    },
  };
}

const NEWLINE = 10;

const lineOf = (line: QueryLine) => `${JSON.stringify(line)}\n`;

function failure({ kind, message }: Failure): QueryLine {
  return {
    failed: { kind, message: kind === 'bug' ? 'a mistake of market-mirror: its log has more' : message },
  };
}

/** A query process for one question, and the call that it costs its account. */
export type Turn = Omit<Loan, 'giveBack'> & {
  /** Gives the process back, and the call where the question was a mistake. */
  end(): void;
};

export type Turns = {
  /**
   * Waits for the limits of the account, and for a process.
   * @returns an answer where there is none: 429 where the limits allow it too late, 503 where too many wait or the question had
   * to give way.
   */
  take(asked: PageAsked, viewer: Viewer): Promise<Turn | PageAnswer>;
};

/** How long a question waits for the limits of its account. */
const LIMITS_WAIT_MS = 60_000;

/** How often they are asked again. */
const LIMITS_LOOK_MS = 100;

export function openTurns(
  processes: Pick<QueryProcesses, 'take'>,
  admission: Pick<Admission, 'enter'>,
  clock: Pick<Clock, 'monotonic'>,
): Turns {
  return {
    async take(asked, { owner, caller }) {
      let permit: Permit | undefined;
      const until = clock.monotonic() + LIMITS_WAIT_MS;
      const enter = async (signal: AbortSignal): Promise<void> => {
        if (caller === null) return;
        asked.belongsTo(caller);
        for (;;) {
          const entry = admission.enter(caller);
          if (!isRefused(entry)) {
            permit = entry;
            return;
          }
          const isInTime = clock.monotonic() + (entry.retryAfter ?? 0) * 1_000 <= until;
          if (entry.limit === null || !isInTime) throw new Refused(entry);
          await sleep(LIMITS_LOOK_MS, undefined, { signal });
        }
      };
      const giveUp = () => {
        permit?.giveBack();
        permit?.leave();
      };
      try {
        const loan = await processes.take(owner, asked.gone, enter);
        if (!loan) return busyAnswer('questions');
        return turnOf(loan, permit);
      } catch (thrown) {
        giveUp();
        if (thrown instanceof Refused) {
          const { refusal } = thrown;
          if (caller) asked.belongsTo(caller, refusal.limit);
          return failedAnswer(refusal.status, 'incomplete', refusal.body.message, refusal.retryAfter);
        }
        if (!(thrown instanceof Failure)) throw thrown;
        return failedAnswer(503, thrown.kind, thrown.message);
      }
    },
  };
}

class Refused extends Error {
  readonly refusal: Refusal;

  constructor(refusal: Refusal) {
    super(refusal.body.error);
    this.refusal = refusal;
  }
}

function turnOf({ giveBack, explain, ...loan }: Loan, permit: Permit | undefined): Turn {
  return {
    ...loan,
    explain(thrown) {
      const told = explain(thrown);
      // As an error of the API it costs nothing.
      if (told instanceof Failure && told.kind === 'usage') permit?.giveBack();
      return told;
    },
    end() {
      permit?.leave();
      giveBack();
    },
  };
}
