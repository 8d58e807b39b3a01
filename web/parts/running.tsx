/** That an answer takes its time: how long it has taken, and a button that ends it. */

import { useEffect, useState } from 'preact/hooks';
import type { Asked } from '../asking.ts';
import { localNow } from '../clock.ts';
import { duration } from '../formats.ts';

/** Most answers are faster, and nobody would read it. */
const SEEN_AFTER_MS = 1_000;

export function Running({ asked, what = 'Reading' }: { asked: Asked<unknown>; what?: string }) {
  const { isLoading, stop } = asked;
  const [ms, setMs] = useState(0);
  useEffect(() => {
    if (!isLoading) return;
    const begun = localNow();
    setMs(0);
    const timer = setInterval(() => setMs(localNow() - begun), 200);
    return () => clearInterval(timer);
  }, [isLoading]);
  if (!isLoading || ms < SEEN_AFTER_MS) return null;
  return (
    <p class="running tools">
      <span role="status">{what}…</span>
      <span class="age">{duration(ms / 1_000)}</span>
      <button type="button" onClick={stop}>
        Stop
      </button>
    </p>
  );
}
