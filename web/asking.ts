/** Questions of views: asked anew when they change, cancelled when nobody waits for them any more. */

import { useEffect, useRef, useState } from 'preact/hooks';
import type { PageQuestion, Schema } from '../src/serve/page/wire.ts';
import { live, useLive } from './live.ts';
import { type Answer, answerTo, fetchSchema, type Outcome, type Trouble } from './service.ts';

export type Asked<T> = {
  /** The latest there was: it stays while the next one is fetched, so that nothing flickers. */
  value: T | null;
  trouble: Trouble | null;
  isLoading: boolean;
  /** Ends the present question. */
  stop(): void;
  again(): void;
};

/**
 * The answer to a question, or nothing for null.
 * @param version asks the same again when it changes, such as `useLive().version`.
 */
export function useAnswer(question: PageQuestion | null, version: unknown = 0): Asked<Answer> {
  const key = question === null ? null : JSON.stringify(question);
  return useFetched(key, version, (signal) => answerTo(JSON.parse(key ?? '') as PageQuestion, signal));
}

let schema: Schema | null = null;

/** What there is to ask for; asked again when a dataset has changed, since it may have got columns. */
export function useSchema(): Asked<Schema> {
  const { overview } = useLive();
  const changed = overview?.status.datasets.map(({ lastChange }) => lastChange).join();
  const asked = useFetched('schema', changed, fetchSchema);
  if (asked.value) schema = asked.value;
  return { ...asked, value: asked.value ?? schema };
}

/** @param key another one is another question; null asks nothing. */
export function useFetched<T>(
  key: string | null,
  version: unknown,
  get: (signal: AbortSignal) => Promise<Outcome<T>>,
): Asked<T> {
  const [state, setState] = useState<{ key: string | null; value: T | null; trouble: Trouble | null }>({
    key: null,
    value: null,
    trouble: null,
  });
  const [isLoading, setLoading] = useState(key !== null);
  const [turn, setTurn] = useState(0);
  const running = useRef<AbortController | null>(null);

  // `get` is another function each time: `key` says what it gets.
  useEffect(() => {
    if (key === null) return;
    const controller = new AbortController();
    running.current = controller;
    let isCurrent = true;
    setLoading(true);
    get(controller.signal).then(({ value, trouble }) => {
      if (!isCurrent) return;
      setLoading(false);
      setState((before) => ({ key, value: value ?? before.value, trouble: trouble ?? null }));
    });
    return () => {
      isCurrent = false;
      controller.abort();
    };
  }, [key, version, turn]);

  useRetryWhenBack(state.trouble, () => setTurn((before) => before + 1));
  return {
    value: key === null ? null : state.value,
    trouble: key === null || isLoading ? null : state.trouble,
    isLoading: key !== null && isLoading,
    stop: () => running.current?.abort(),
    again: () => setTurn((before) => before + 1),
  };
}

/** What failed while the service was away is asked again once it is back. */
function useRetryWhenBack(trouble: Trouble | null, again: () => void): void {
  const isAway = trouble?.kind === 'away';
  useEffect(() => {
    if (!isAway) return;
    let before = live.get().overview;
    return live.subscribe(() => {
      const { overview } = live.get();
      if (overview !== before) again();
      before = overview;
    });
  }, [isAway]);
}
