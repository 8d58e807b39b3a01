/** Server-sent events: something was committed, or the daemon came or went. One check serves all listeners. */

import { isoTime } from '../../clock.ts';
import { openFairShares } from '../fair-shares.ts';
import { ClientGone, EVENT_STREAM, type Stream, type Write } from '../http/stream.ts';
import type { PageEvent, PageListening } from './wire.ts';

/** Runs `work` again and again; @returns what ends it. */
type Repeat = (work: () => void, ms: number) => () => void;

const byTimer: Repeat = (work, ms) => {
  const timer = setInterval(work, ms).unref();
  return () => clearInterval(timer);
};

type Listener = { send: Send; leave(): void; mayListen(): boolean };

/** `state`: another text when there is something to send. */
type Look = PageListening & { state: string };

export function openLiveEvents(look: () => Look, now: () => number, repeat: Repeat = byTimer) {
  const listeners = new Set<Listener>();
  const places = openFairShares(EVENT_STREAM.maxStreams);
  let stop = () => {};
  let known: Look = { state: '', commit: null };
  let isOver = false;

  function sendAll(text: string, isNews: boolean): void {
    for (const { send, leave, mayListen } of listeners)
      if (mayListen()) send(text, isNews);
      else leave();
  }

  function check(): void {
    const present = look();
    if (present.state === known.state) return;
    known = present;
    const event: PageEvent = { at: isoTime(now()) };
    sendAll(`data: ${JSON.stringify(event)}\n\n`, true);
  }

  function begin(): void {
    known = look();
    const stopChecking = repeat(check, EVENT_STREAM.checkMs);
    const stopKeepingAlive = repeat(() => sendAll(EVENT_STREAM.keepAlive, false), EVENT_STREAM.keepAliveMs);
    stop = () => {
      stopChecking();
      stopKeepingAlive();
    };
  }

  return {
    /**
     * One listener's stream, which goes on until the listener leaves, may no longer see the page, or gives way to another viewer;
     * undefined where there are as many as may be.
     * @param owner the viewer.
     */
    listen(owner: string, gone: AbortSignal, mayListen: () => boolean): Stream | undefined {
      if (isOver || gone.aborted) return undefined;
      const left = new AbortController();
      const leave = () => left.abort();
      const place = places.take(owner, leave);
      if (!place) return undefined;
      gone.addEventListener('abort', place.leave);
      return async (write) => {
        const ended = AbortSignal.any([gone, left.signal]);
        const failed = new Promise<never>((_, reject) => {
          const listener = { send: sender(write, reject), leave, mayListen };
          const end = () => {
            if (listeners.delete(listener) && listeners.size === 0) stop();
          };
          // Node.js 20 keeps such a signal, and all that a listener of it knows, for as long as it has the listener.
          ended.addEventListener('abort', end, { once: true });
          if (ended.aborted) return;
          listeners.add(listener);
          if (listeners.size === 1) begin();
          // As of the last look: the next one sends what came since.
          const listening: PageListening = { commit: known.commit };
          const first = `${EVENT_STREAM.retry}event: listening\ndata: ${JSON.stringify(listening)}\n\n`;
          listener.send(first, false);
        });
        await Promise.race([failed, aborted(ended)]).finally(place.leave);
        if (gone.aborted) throw new ClientGone();
      };
    },
    /** Ends all streams, as if they were whole. */
    end(): void {
      isOver = true;
      for (const { leave } of [...listeners]) leave();
    },
  };
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (!signal.aborted)
    await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
}

/** @param isNews whether it is kept for a listener that does not read yet. */
type Send = (text: string, isNews: boolean) => void;

/** The latest news is enough for a slow listener: it says the same as those before. */
function sender(write: Write, onError: (thrown: unknown) => void): Send {
  let isReading = true;
  let pending: string | undefined;
  return function send(text, isNews) {
    if (!isReading) {
      if (isNews) pending = text;
      return;
    }
    isReading = false;
    write(text).then(() => {
      isReading = true;
      const next = pending;
      pending = undefined;
      if (next !== undefined) send(next, true);
    }, onError);
  };
}
