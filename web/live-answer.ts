/** An answer that is asked for again when there is something new, but never so often that slow ones are not finished. */

import { useEffect, useRef, useState } from 'preact/hooks';
import type { PageQuestion } from '../src/serve/ui/wire.ts';
import { type Asked, useAnswer } from './asking.ts';
import type { Answer } from './service.ts';

const LEAST_MS = 1_000;
/** So many times longer than an answer takes is the pause behind it. */
const PAUSES = 5;

/** @param changed tells what is new. @param isLive else the answer stays as it is. */
export function useLiveAnswer(
  question: PageQuestion | null,
  changed: unknown,
  isLive: boolean,
): Asked<Answer> {
  const [version, setVersion] = useState(changed);
  const asked = useAnswer(question, version);
  const latest = useRef(changed);
  latest.current = changed;
  const isDue = isLive && changed !== version && !asked.isLoading && asked.trouble?.kind !== 'stopped';
  const pauseMs = Math.max(LEAST_MS, (asked.value?.ms ?? 0) * PAUSES);
  useEffect(() => {
    if (!isDue) return;
    const timer = setTimeout(() => setVersion(latest.current), pauseMs);
    return () => clearTimeout(timer);
  }, [isDue]);
  return asked;
}
