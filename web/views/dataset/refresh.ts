/** When to ask again: soon after a change, but never so often that slow answers are not finished. */

import { useEffect, useRef, useState } from 'preact/hooks';

const LEAST_MS = 1_000;
/** So many times longer than an answer takes is the pause behind it. */
const PAUSES = 5;

/** @param changed tells changes apart. @param answerMs how long the last answer took. @returns what to ask again by. */
export function useRefresh(changed: unknown, answerMs: number): unknown {
  const [shown, setShown] = useState(changed);
  const latest = useRef(changed);
  latest.current = changed;
  const isNew = changed !== shown;
  useEffect(() => {
    if (!isNew) return;
    const timer = setTimeout(() => setShown(latest.current), Math.max(LEAST_MS, answerMs * PAUSES));
    return () => clearTimeout(timer);
  }, [isNew]);
  return shown;
}
