/** How the change feed is sent: as one answer, or as server-sent events that go on until the client leaves. */

import { setTimeout as sleep } from 'node:timers/promises';
import { ClientGone, type Stream } from '../http/stream.ts';
import { openFairShares } from '../ui/fair-shares.ts';
import { type FeedAnswer, type FeedName, type Position, writePosition } from './changes.ts';

/** The feed as one answer in JSON. */
export const feedBody = ({ changes, next, hasMore }: FeedAnswer, name: FeedName): string =>
  `{"changes":[${changes.map(({ json }) => json).join(',\n')}],"next":"${writePosition(name, next)}","hasMore":${hasMore}}`;

export type FeedStreamParts = {
  readonly name: FeedName;
  readonly account: string;
  readonly gone: AbortSignal;
  readonly since: Position | null;
  /** Changes behind a position; undefined where the stream has to end: the client asks again, and hears why. */
  read(since: Position | null): Promise<FeedAnswer | undefined>;
  /** Another number when anything was committed. */
  version(): number | undefined;
  /** Whether the key is still valid. */
  mayListen(): boolean;
};

export type FeedStreams = {
  /** Undefined where there are as many as may be. */
  open(parts: FeedStreamParts): Stream | undefined;
  /** Ends all streams, as if they were whole. */
  end(): void;
};

const MAX_STREAMS = 64;
const CHECK_MS = 250;
/** Shorter than proxies and the service let a connection be silent. */
const KEEP_ALIVE_MS = 15_000;
/** After which a client connects again where it was cut off. */
const RETRY_MS = 2_000;

export function openFeedStreams(): FeedStreams {
  const places = openFairShares(MAX_STREAMS);
  const ended = new AbortController();

  return {
    open({ name, account, gone, since, read, version, mayListen }) {
      const left = new AbortController();
      const place = places.take(account, () => left.abort());
      if (!place || ended.signal.aborted) return undefined;
      gone.addEventListener('abort', place.leave);
      const over = AbortSignal.any([gone, left.signal, ended.signal]);
      return async (write) => {
        await write(`retry: ${RETRY_MS}\n\n`);
        let position = since;
        while (!over.aborted && mayListen()) {
          const known = version();
          const answer = await read(position);
          if (!answer) break;
          const events = answer.changes.map(
            (change) => `id: ${writePosition(name, change.position)}\ndata: ${change.json}\n\n`,
          );
          // The last position of a commit is that behind it.
          if (events.length > 0 || position === null)
            events.push(`id: ${writePosition(name, answer.next)}\n\n`);
          if (events.length > 0) await write(events.join(''));
          position = answer.next;
          if (!answer.hasMore) await changed(known);
        }
        place.leave();
        if (gone.aborted) throw new ClientGone();

        async function changed(known: number | undefined): Promise<void> {
          for (let waited = CHECK_MS; !over.aborted && version() === known; waited += CHECK_MS) {
            await sleep(CHECK_MS, undefined, { signal: over }).catch(() => undefined);
            if (waited % KEEP_ALIVE_MS !== 0) continue;
            await write(': here\n\n');
            if (!mayListen()) return;
          }
        }
      };
    },
    end: () => ended.abort(),
  };
}
