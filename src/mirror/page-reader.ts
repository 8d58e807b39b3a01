/** Asks for the pages of a walk, checks each, and holds it against what the mirror knows. */

import { createHash } from 'node:crypto';
import { setMaxListeners } from 'node:events';
import { BAD_BODY, type Body, type Call } from '../api/response.ts';
import type { Api, ApiResponse } from '../api.ts';
import type { Job } from '../job.ts';
import type { Store, WalkSession } from '../store.ts';
import type { CheckedPage, CheckedRows, Row } from '../validate/checked.ts';
import { checkPage, readPage } from '../validate.ts';
import { PAGE_ROWS } from '../walk/bounds.ts';
import type { Checkpoint, PageFacts } from '../walk/checkpoint.ts';
import { pagesInOrder, type Upstream } from './in-order.ts';

/** A checked page beside what this pass of the walk knows of it. */
export type Page = CheckedPage & PageFacts & { call: Call };

export type PageReader = {
  /** The page at an offset, which the walk needs that stands there; what was asked for ahead is checked only now. */
  read(offset: number, at: Checkpoint): Promise<Page>;
  /** Ends what is under way; call it when the walk is over, however it ended. */
  close(): Promise<void>;
};

export function createPageReader(
  job: Job,
  session: WalkSession,
  { api, store }: { api: Api; store: Store },
  signal: AbortSignal,
): PageReader {
  const ahead = new AbortController();
  // Every call under way listens to it; beyond ten Node.js would take that for a leak, and say so.
  setMaxListeners(0, ahead.signal);
  const stop = () => ahead.abort(signal.reason);
  signal.addEventListener('abort', stop, { once: true });
  let shape = store.shape(job.name);

  const request = (offset: number) => ({
    job: job.name,
    walkId: session.row.id,
    path: job.path,
    query: { offset, limit: PAGE_ROWS },
    read,
  });
  const read = (body: Body) => {
    try {
      return readPage(body, shape, session.findStoredRun());
    } catch {
      // What keeps the rows from being read keeps the page from being saved, too, which says so.
      return JSON.parse(body.text());
    }
  };
  /** What was asked for ahead is read in its turn: its bytes are less than what becomes of them, and the shape may change. */
  const inItsTurn = ({ body, json, call }: ApiResponse): { json: unknown } | undefined => {
    if (json !== notYet) return { json };
    try {
      return { json: read(body) };
    } catch {
      call.errorCode = BAD_BODY;
      return undefined;
    }
  };
  const upstream: Upstream<ApiResponse, CheckedPage> = {
    get: (offset, foreseen) =>
      api.get(request(offset), signal, { upcoming: foreseen, onWait: session.commit }),
    // A glance reads no more than it must.
    guess: (offset, foreseen) =>
      session.row.kind === 'walk'
        ? api.prefetch({ ...request(offset), read: () => notYet }, ahead.signal, foreseen)
        : undefined,
    check(answer) {
      const made = inItsTurn(answer);
      return made && checkPage(job, answer.body, made.json, shape);
    },
    agree: (before, page) => showSameRows(job, before, page),
    discard({ call }) {
      try {
        store.recordCall(call);
      } catch {
        // Whatever keeps it from being written down keeps the next page, too, which says so.
      }
    },
  };
  const pages = pagesInOrder(upstream);

  return {
    async read(offset, at) {
      const { page, answer } = await pages.next(at);
      signal.throwIfAborted();
      if (page.shape && page.shape !== shape) store.keepShape(job.name, page.shape);
      shape = page.shape;
      const digest = offset === 0 && typeof page.generatedAt === 'string' ? digestOf(job, page) : undefined;
      return { ...page, offset, ...session.lookUp(page), digest, call: answer.call };
    },
    async close() {
      signal.removeEventListener('abort', stop);
      ahead.abort(over);
      await pages.end();
    },
  };
}

/** Stands for what has not been read yet. */
const notYet = Symbol();

/** Ends the calls that are asked ahead; a reason of its own, since making the usual one is dear. */
const over = new Error('the walk is over');

/** What a page says, apart from columns that change while their record does not. */
function digestOf(job: Job, { keys, accepted, refused }: CheckedRows): string {
  const stable = accepted.map((row) => stableOf(job, row));
  const problems = refused.map((row) => row.problems);
  return createHash('sha256')
    .update(JSON.stringify([keys, stable, problems]))
    .digest('base64');
}

/** Of the rows that both pages show. */
function showSameRows(job: Job, before: CheckedRows, page: CheckedRows): boolean {
  const asOf = stateOf(page);
  if (asOf !== undefined && asOf === stateOf(before)) return true;
  const shown = new Map(before.accepted.map((row) => [row.key, row]));
  return page.accepted.every((row) => {
    const other = shown.get(row.key);
    return !other || JSON.stringify(stableOf(job, row)) === JSON.stringify(stableOf(job, other));
  });
}

/** The state of the table that all rows of the page are as they are in; undefined where one was not told by it. */
function stateOf({ accepted }: CheckedRows): number | undefined {
  const state = accepted[0]?.stored?.tableState;
  return accepted.every(({ stored }) => stored?.tableState === state) ? state : undefined;
}

function stableOf({ contract }: Job, { values }: Row): [string, unknown][] {
  return Object.entries(values).filter(([column]) => !contract?.volatile.includes(column));
}
