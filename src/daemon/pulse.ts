/** Signs of life of the runs: one that shows none for long hangs, and only a restart helps. */

export type Pulse = {
  /** A run began, or saved a page. */
  beat(job: string): void;
  /** It ended, however it did. */
  end(job: string): void;
  /** The runs that have been silent for too long. */
  silent(): string[];
};

/** With a permit, calls are repeated for some minutes at most; a longer wait ends the run. */
const TOO_LONG_MS = 15 * 60_000;

/**
 * @param waits whether a run waits for a permit: others may go first for hours, so that alone is no silence.
 * @param now milliseconds of a clock that nobody sets.
 */
export function createPulse(waits: (job: string) => boolean, now: () => number): Pulse {
  const heard = new Map<string, number>();
  let last = now();
  const isLongAgo = (at: number) => now() - at > TOO_LONG_MS;
  return {
    beat(job) {
      last = now();
      heard.set(job, last);
    },
    end: (job) => void heard.delete(job),
    silent: () =>
      [...heard].filter(([job, at]) => isLongAgo(at) && (isLongAgo(last) || !waits(job))).map(([job]) => job),
  };
}
