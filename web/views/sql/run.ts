/** One query at a time: what it has brought so far, and how it ended. */

import { useEffect, useRef, useState } from 'preact/hooks';
import type { OpenedQuery, PageCell } from '../../../src/serve/page/wire.ts';
import { localNow } from '../../clock.ts';
import type { Sql } from '../../question.ts';
import { ask, type QueryProblem } from '../../service.ts';

export type Run = {
  question: Sql;
  /** The moment that was asked for; null for now. */
  at: string | null;
  /** By the clock of this browser, epoch milliseconds. */
  begunAt: number;
  opened: OpenedQuery | null;
  /** So many have come. */
  count: number;
  /** Null while it runs. */
  end: {
    ms: number;
    /** More rows would have followed. */
    isCut: boolean;
    /** What is to be known of the rows. */
    notes: readonly string[];
    problem: QueryProblem | null;
  } | null;
  /** Filled while it runs: looked at once it has ended. */
  rows: (readonly PageCell[])[];
};

/** Rows come faster than anybody reads how many there are. */
const TOLD_EVERY_MS = 100;

/** @returns `run`: the present one, or the last. */
export function useRunner() {
  const [run, setRun] = useState<Run | null>(null);
  const controller = useRef<AbortController | null>(null);
  // Leaving the view ends the query.
  useEffect(() => () => controller.current?.abort(), []);

  async function start(question: Sql, at: string | null, limit: number): Promise<Run> {
    controller.current?.abort();
    const own = new AbortController();
    controller.current = own;
    const show = (next: Run) => {
      if (controller.current === own) setRun(next);
      return next;
    };
    let now: Run = { question, at, begunAt: localNow(), opened: null, count: 0, end: null, rows: [] };
    let toldAt = 0;
    show(now);
    const { value, problem } = await ask(
      { ...question, asOf: at, limit },
      {
        opened(opened) {
          now = show({ ...now, opened });
        },
        rows(more) {
          for (const row of more) now.rows.push(row);
          now = { ...now, count: now.rows.length };
          if (localNow() - toldAt < TOLD_EVERY_MS) return;
          toldAt = localNow();
          show(now);
        },
      },
      own.signal,
    );
    const ms = value?.ms ?? localNow() - now.begunAt;
    const { isCut = true, notes = [] } = value ?? {};
    return show({ ...now, end: { ms, isCut, notes, problem: problem ?? null } });
  }

  return { run, start, stop: () => controller.current?.abort() };
}
