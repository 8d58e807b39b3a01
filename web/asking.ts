/** Questions of views: asked anew when they change, cancelled when nobody waits for them any more. */

import { useEffect, useRef, useState } from 'preact/hooks';
import type { PageQuestion, Schema } from '../src/serve/ui/wire.ts';
import { keepAsking, type Running } from './keep-asking.ts';
import { live, useLive } from './live.ts';
import { type Answer, answerTo, fetchSchema, type Outcome, type Trouble } from './service.ts';

export type Asked<T> = {
  /** The latest there was: it stays while the next one is fetched, so that nothing flickers. */
  value: T | null;
  trouble: Trouble | null;
  isLoading: boolean;
  /** Whether the present question has been answered, however well, if only before something changed. */
  isAnswered: boolean;
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

/**
 * @param key another one is another question: the present one is ended. Null asks nothing.
 * @param version another one asks the same again, once the present question is answered: what changes all the time must not
 * keep an answer from ever coming.
 */
export function useFetched<T>(
  key: string | null,
  version: unknown,
  get: (signal: AbortSignal) => Promise<Outcome<T>>,
): Asked<T> {
  const [state, setState] = useState<Held<T>>({ key: null, value: null, trouble: null });
  const [isLoading, setLoading] = useState(key !== null);
  const [turn, setTurn] = useState(0);
  const running = useRef<Running | null>(null);
  const asked = useRef(version);

  // `get` is another function each time: `key` says what it gets.
  useEffect(() => {
    if (key === null) return;
    asked.current = version;
    const present = keepAsking(
      get,
      (outcome) => setState((before) => held(before, key, outcome)),
      setLoading,
    );
    running.current = present;
    return () => {
      present.end();
      running.current = null;
    };
  }, [key, turn]);
  useEffect(() => {
    if (asked.current === version) return;
    asked.current = version;
    running.current?.again();
  }, [version]);

  useRetryWhenBack(state.trouble, () => setTurn((before) => before + 1));
  return {
    value: key === null ? null : state.value,
    trouble: key === null || isLoading ? null : state.trouble,
    isLoading: key !== null && isLoading,
    isAnswered: key !== null && state.key === key,
    stop: () => running.current?.stop(),
    again: () => setTurn((before) => before + 1),
  };
}

type Held<T> = { key: string | null; value: T | null; trouble: Trouble | null };

/** A value stays until there is another, but not beside what went wrong with another question. */
function held<T>(before: Held<T>, key: string, { value, trouble }: Outcome<T>): Held<T> {
  return { key, value: value ?? (before.key === key ? before.value : null), trouble: trouble ?? null };
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
