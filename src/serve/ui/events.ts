/** Tells whoever listens that something was committed, or that the daemon came or went: one look for all of them. */

import { isoTime } from '../../clock.ts';
import { Gone, type Stream, type Write } from '../http/app.ts';
import { openFairShares } from './fair-shares.ts';
import type { PageEvent } from './wire.ts';

/** Runs `work` again and again; @returns what ends it. */
export type Repeat = (work: () => void, ms: number) => () => void;

const byTimer: Repeat = (work, ms) => {
  const timer = setInterval(work, ms).unref();
  return () => clearInterval(timer);
};

export type Events = {
  /**
   * One listener's stream, which goes on until it leaves, is no longer welcome, or gives way to another viewer; undefined
   * where there are as many as may be.
   * @param owner the viewer.
   */
  listen(owner: string, gone: AbortSignal, isWelcome: () => boolean): Stream | undefined;
  /** Ends all of them, well. */
  end(): void;
};

type Listener = { tell: Tell; leave(): void; isWelcome(): boolean };

const MOST_LISTENERS = 64;
const LOOK_MS = 250;
/** Shorter than proxies and the service let a connection be silent. */
const SIGN_OF_LIFE_MS = 15_000;
/** After which a browser asks again where it was cut off. */
const RETRY_MS = 2_000;

/** @param state another text when there is something to tell. */
export function openEvents(state: () => string, now: () => number, repeat: Repeat = byTimer): Events {
  const listeners = new Set<Listener>();
  const places = openFairShares(MOST_LISTENERS);
  let stop = () => {};
  let known = '';
  let isOver = false;

  function tellAll(text: string, isNews: boolean): void {
    for (const { tell, leave, isWelcome } of listeners)
      if (isWelcome()) tell(text, isNews);
      else leave();
  }

  function look(): void {
    const present = state();
    if (present === known) return;
    known = present;
    const event: PageEvent = { at: isoTime(now()) };
    tellAll(`data: ${JSON.stringify(event)}\n\n`, true);
  }

  function begin(): void {
    known = state();
    const stopLooking = repeat(look, LOOK_MS);
    const stopLiving = repeat(() => tellAll(': here\n\n', false), SIGN_OF_LIFE_MS);
    stop = () => {
      stopLooking();
      stopLiving();
    };
  }

  return {
    listen(owner, gone, isWelcome) {
      if (isOver || gone.aborted) return undefined;
      const left = new AbortController();
      const place = places.take(owner, () => left.abort());
      if (!place) return undefined;
      gone.addEventListener('abort', place.leave);
      return async (write) => {
        await new Promise<void>((resolve, reject) => {
          const listener = { tell: inTurn(write, reject), leave: () => left.abort(), isWelcome };
          const over = () => {
            place.leave();
            if (listeners.delete(listener) && listeners.size === 0) stop();
          };
          gone.addEventListener('abort', () => {
            over();
            reject(new Gone());
          });
          left.signal.addEventListener('abort', () => {
            over();
            resolve();
          });
          if (gone.aborted || left.signal.aborted) {
            over();
            resolve();
            return;
          }
          listeners.add(listener);
          if (listeners.size === 1) begin();
          listener.tell(`retry: ${RETRY_MS}\n\n`, false);
        });
      };
    },
    end() {
      isOver = true;
      stop();
      for (const { leave } of [...listeners]) leave();
    },
  };
}

/** @param isNews whether it is kept for one who does not take it yet. */
type Tell = (text: string, isNews: boolean) => void;

/** To one who is slow to take it the latest of the news is enough: it says the same as those before. */
function inTurn(write: Write, failed: (thrown: unknown) => void): Tell {
  let isTaking = true;
  let waiting: string | undefined;
  return function tell(text, isNews) {
    if (!isTaking) {
      if (isNews) waiting = text;
      return;
    }
    isTaking = false;
    write(text).then(() => {
      isTaking = true;
      const next = waiting;
      waiting = undefined;
      if (next !== undefined) tell(next, true);
    }, failed);
  };
}
