/** Signs of life of the runs under way: one that shows none for long hangs, and only a restart can free it. */

export type Pulse = {
  /** A run began, or saved a page. */
  beat(job: string): void;
  /** It ended, however it did. */
  end(job: string): void;
  /** The runs that have been silent for too long. */
  silent(): string[];
};

/** Calls are repeated for some minutes at most, and a wait that is longer ends the run. */
const TOO_LONG_MS = 15 * 60_000;

export function createPulse(now: () => number): Pulse {
  const heard = new Map<string, number>();
  return {
    beat: (job) => void heard.set(job, now()),
    end: (job) => void heard.delete(job),
    silent: () => [...heard].filter(([, at]) => now() - at > TOO_LONG_MS).map(([job]) => job),
  };
}
