/** Questions of views: asked again when the question or the mirror changes, and cancelled when no view waits. */

import { useEffect, useRef, useState } from 'preact/hooks';
import type { PageQuestion, Schema } from '../src/serve/page/wire.ts';
import { localNow } from './clock.ts';
import { live, useLive } from './live.ts';
import { type Answer, answerTo, fetchSchema, type Outcome, type QueryProblem } from './service.ts';

export type Query<T> = {
  /** The latest there was: it stays while the next one is fetched, so that nothing flickers. */
  value: T | null;
  problem: QueryProblem | null;
  isLoading: boolean;
  /** The value is still that of an earlier question. */
  isOld: boolean;
  /** Whether the present question has been answered, however well, if only before something changed. */
  isAnswered: boolean;
  again(): void;
};

/** Another value of `changed` asks the same question again, unless `isLive` is false, of the latest value. */
type Refresh<T> = { changed?: unknown; isLive?: boolean | ((value: T | null) => boolean) };

/** Rows that are there stay; an empty answer is asked again. */
export const whileEmpty = (answer: Answer | null): boolean => answer?.rows.length === 0;

/** The answer to a question, or nothing for null. */
export function useAnswer(question: PageQuestion | null, refresh: Refresh<Answer> = {}): Query<Answer> {
  const key = question === null ? null : JSON.stringify(question);
  return useFetched(key, (signal) => answerTo(JSON.parse(key ?? '') as PageQuestion, signal), refresh);
}

/** The answer to a question, asked again whenever something may be new in the mirror. */
export function useCurrentAnswer(question: PageQuestion | null): Query<Answer> {
  return useAnswer(question, { changed: useLive().version });
}

let schema: Schema | null = null;

/** What there is to ask for; asked again when a dataset has changed, since it may have got columns. */
export function useSchema(): Query<Schema> {
  const { overview } = useLive();
  const changed = overview?.status.datasets.map(({ lastChange }) => lastChange).join();
  const query = useFetched('schema', fetchSchema, { changed });
  if (query.value) schema = query.value;
  return { ...query, value: query.value ?? schema };
}

const MIN_PAUSE_MS = 1_000;
/** The pause after an answer is so many times as long as the answer took: slow ones must not keep the service busy. */
const PAUSE_RATIO = 5;

type FetchState<T> = {
  key: string | null;
  value: T | null;
  valueKey: string | null;
  problem: QueryProblem | null;
};

/** @param key what `get` gets: another key ends the present fetch and begins another. Null fetches nothing. */
export function useFetched<T>(
  key: string | null,
  get: (signal: AbortSignal) => Promise<Outcome<T>>,
  { changed, isLive = true }: Refresh<T> = {},
): Query<T> {
  const [state, setState] = useState<FetchState<T>>({
    key: null,
    value: null,
    valueKey: null,
    problem: null,
  });
  const [isRunning, setRunning] = useState(false);
  const [turn, setTurn] = useState(0);
  const askedFor = useRef(changed);
  const tookMs = useRef(0);
  const again = () => setTurn((before) => before + 1);

  useEffect(() => {
    if (key === null) return;
    const controller = new AbortController();
    const begun = localNow();
    let isWanted = true;
    askedFor.current = changed;
    setRunning(true);
    void get(controller.signal).then(({ value = null, problem = null }) => {
      if (!isWanted) return;
      tookMs.current = localNow() - begun;
      setRunning(false);
      // A value stays until there is another, but not next to the problem of another question.
      setState((before) =>
        value !== null || before.key !== key
          ? { key, value, valueKey: key, problem }
          : { ...before, problem },
      );
    });
    return () => {
      isWanted = false;
      controller.abort();
    };
  }, [key, turn]);

  const isLoading = key !== null && (isRunning || state.key !== key);
  const problem = key === null || isLoading ? null : state.problem;
  const isDue =
    key !== null &&
    !isLoading &&
    changed !== askedFor.current &&
    (typeof isLive === 'boolean' ? isLive : isLive(state.value));
  useEffect(() => {
    if (!isDue) return;
    const timer = setTimeout(again, Math.max(MIN_PAUSE_MS, tookMs.current * PAUSE_RATIO));
    return () => clearTimeout(timer);
  }, [isDue]);
  useRetryWhenBack(problem, again);

  return {
    value: key === null ? null : state.value,
    problem,
    isLoading,
    isOld: state.valueKey !== key,
    isAnswered: key !== null && state.key === key,
    again,
  };
}

/** A question that failed while the service was away is asked again once the service is back. */
function useRetryWhenBack(problem: QueryProblem | null, again: () => void): void {
  const isAway = problem?.kind === 'away';
  const drawn = live.get();
  useEffect(() => {
    if (!isAway) return;
    return live.subscribe(drawn, () => live.get().overview !== drawn.overview && again());
  }, [isAway]);
}
