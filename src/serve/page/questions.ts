/** Questions in SQL: answered line by line as rows are read, by a process that ends with the connection. */

import type { Clock } from '../../clock.ts';
import { Failure } from '../../errors.ts';
import type { Cell } from '../../output/answer.ts';
import type { Answer } from '../../reading/query.ts';
import type { PageAnswer, PageAsked, Write } from '../app.ts';
import { readJson, readLimit, readQuestion } from './asked.ts';
import type { Askers } from './askers.ts';
import { busyAnswer } from './failed.ts';
import type { PageCell, QueryLine } from './wire.ts';

export type QuestionParts = {
  readonly dir: string;
  /** The mirrored tables with their jobs. */
  readonly tables: Readonly<Record<string, string>>;
  readonly askers: Askers;
  readonly clock: Pick<Clock, 'now' | 'monotonic'>;
  /** How long a question may take, reading its rows included. */
  readonly timeoutMs: number;
  /** Told of what must not happen. */
  failed(thrown: unknown): void;
};

/** A connection without a word for longer than the service, or a proxy, allows would be cut while SQLite computes. */
const SIGN_OF_LIFE_MS = 10_000;

/** @throws Unfit for what is no question. */
export async function answerQuestion(asked: PageAsked, parts: QuestionParts): Promise<PageAnswer> {
  const { dir, tables, askers, clock, timeoutMs, failed } = parts;
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
  const lease = await askers.take(asked.gone);
  if (!lease) return busyAnswer('questions');

  async function send(write: Write, answer: Answer): Promise<void> {
    const { columns, sources, seq, notes } = answer;
    const line = (line: QueryLine) => write(lineOf(line));
    await line({
      opened: { columns: columns.map(({ name, type }) => ({ name, type })), sources, seq, notes },
    });
    let rows = 0;
    let isCut = false;
    for await (const batch of answer.batches) {
      isCut = batch.length > limit - rows;
      const taken = isCut ? batch.slice(0, limit - rows) : batch;
      rows += taken.length;
      if (taken.length > 0) await line({ rows: taken.map((row) => row.map(shownCell)) });
      if (isCut) break;
    }
    await line({ end: { rows, isCut, ms: Math.round(clock.monotonic() - startedAt) } });
  }

  return {
    status: 200,
    headers,
    async body(write) {
      const alive = setInterval(() => void write('\n').catch(() => undefined), SIGN_OF_LIFE_MS);
      try {
        const bounds = { signal: asked.gone, now: clock.now, timeoutMs };
        await lease.ask({ dir, tables, ...question }, bounds, (answer) => send(write, answer));
      } catch (thrown) {
        if (!(thrown instanceof Failure)) throw thrown;
        if (thrown.kind === 'bug') failed(thrown);
        await write(lineOf(failure(thrown)));
      } finally {
        clearInterval(alive);
        lease.giveBack();
      }
    },
  };
}

const lineOf = (line: QueryLine) => `${JSON.stringify(line)}\n`;

function failure({ kind, message }: Failure): QueryLine {
  return {
    failed: { kind, message: kind === 'bug' ? 'a mistake of market-mirror: its log has more' : message },
  };
}

function shownCell(cell: Cell): PageCell {
  if (typeof cell === 'bigint') return { integer: String(cell) };
  if (typeof cell === 'number' && !Number.isFinite(cell)) return String(cell);
  return cell instanceof Uint8Array ? { bytes: cell.length } : cell;
}
