/** Shipping beside the daemon: after every walk and glance, on a thread of its own, again and again until it succeeds. */

import { type Clock, isoTime, type Random } from '../clock.ts';
import type { ShipAddress } from '../config.ts';
import { asFailure, type FailureKind } from '../errors.ts';
import type { Log } from '../log.ts';
import type { ShipNote } from '../reading/status.ts';
import { shipThread } from '../ship/thread.ts';

export type Shipping = {
  /** Something of the job may be new. */
  due(job: string): void;
  /** Ends it where it is: what was not committed is shipped next time. */
  end(): Promise<void>;
};

export type ShippingParts = {
  dir: string;
  address: ShipAddress;
  /** What is there already is shipped at the start. */
  jobs: readonly string[];
  clock: Clock;
  random: Random;
  log: Pick<Log, 'info' | 'warn'>;
  /** Told how far it has come, and what keeps it from going on. */
  note: (note: ShipNote) => void;
  timing?: Partial<Timing>;
};

/** Milliseconds. */
type Timing = { shortestPause: number; longestPause: number; hopelessPause: number };

const usual: Timing = { shortestPause: 1_000, longestPause: 60_000, hopelessPause: 600_000 };

/** The note beside the lock has little room. */
const LONGEST_MESSAGE = 300;

export function keepShipping(parts: ShippingParts): Shipping {
  const { dir, address, jobs, clock, random, log, note } = parts;
  const timing = { ...usual, ...parts.timing };
  const thread = shipThread({ dir, address });
  const ending = new AbortController();
  const { signal } = ending;
  const due = new Set(jobs);
  const seqs: Record<string, number> = {};
  let troubledSince: string | undefined;
  let said = '';
  let wake = () => {};

  /** Ships what is due. @returns what kept some of it here. */
  async function shipDue(): Promise<{ kind: FailureKind; message: string } | undefined> {
    const only = [...due];
    due.clear();
    const keepDue = (job: string) => due.add(job);
    try {
      const { outcomes } = await thread.ask({ only, now: clock.now() });
      for (const { job, shipped, failure } of outcomes) {
        if (failure) keepDue(job);
        if (shipped) seqs[job] = shipped.to;
        for (const problem of shipped?.problems ?? []) log.warn({ job }, `not all is shipped: ${problem}`);
      }
      return outcomes.find(({ failure }) => failure)?.failure ?? undefined;
    } catch (thrown) {
      only.forEach(keepDue);
      return asFailure(thrown);
    }
  }

  function well(): void {
    if (troubledSince !== undefined) log.info({}, 'shipping goes on');
    [troubledSince, said] = [undefined, ''];
    note({ seqs, trouble: null });
  }

  function failed(message: string, waitMs: number): void {
    const at = clock.now();
    troubledSince ??= isoTime(at);
    const nextTry = isoTime(at + waitMs);
    note({ seqs, trouble: { message: message.slice(0, LONGEST_MESSAGE), since: troubledSince, nextTry } });
    if (message !== said) log.warn({ nextTry }, `not shipped: ${message}; mirroring goes on`);
    said = message;
  }

  async function keep(): Promise<void> {
    for (let failures = 0; !signal.aborted; ) {
      if (due.size === 0)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      if (signal.aborted) return;
      const failure = await shipDue();
      if (signal.aborted) return;
      failures = failure ? failures + 1 : 0;
      if (!failure) well();
      else {
        const pause = Math.min(timing.shortestPause * 2 ** (failures - 1), timing.longestPause);
        const waitMs = failure.kind === 'config' ? timing.hopelessPause : pause * (0.5 + random() / 2);
        failed(failure.message, waitMs);
        await clock.sleep(waitMs, signal).catch(() => undefined);
      }
    }
  }

  const kept = keep();
  return {
    due(job) {
      due.add(job);
      wake();
    },
    async end() {
      ending.abort();
      wake();
      await thread.close();
      await kept;
    },
  };
}
