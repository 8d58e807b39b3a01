/** How the change feed is sent: as one answer, or as server-sent events that go on until the client leaves. */

import { setTimeout as sleep } from 'node:timers/promises';
import { openFairShares } from '../fair-shares.ts';
import { ClientGone, EVENT_STREAM, type Stream } from '../http/stream.ts';
import { type FeedAnswer, type FeedName, type Position, writePosition } from './changes.ts';

/** The feed as one answer in JSON. */
export const feedBody = ({ changes, next, hasMore }: FeedAnswer, name: FeedName): string =>
  `{"changes":[${changes.map(({ json }) => json).join(',\n')}],"next":"${writePosition(name, next)}","hasMore":${hasMore}}`;

type FeedStreamParts = {
  readonly name: FeedName;
  readonly account: string;
  readonly gone: AbortSignal;
  readonly since: Position | null;
  /** Changes behind a position; undefined where the stream has to end. The client then connects again, and is told why. */
  read(since: Position | null): Promise<FeedAnswer | undefined>;
  /** Another text when there may be other changes; undefined while the mirror cannot be read. */
  version(): string | undefined;
  /** Whether the key is still valid. */
  mayListen(): boolean;
};

type FeedStreams = {
  /** Undefined where as many are open as may be. */
  open(parts: FeedStreamParts): Stream | undefined;
  /** Ends all streams, as if they were whole. */
  end(): void;
};

export function openFeedStreams(): FeedStreams {
  const shares = openFairShares(EVENT_STREAM.maxStreams);
  const ended = new AbortController();

  return {
    open({ name, account, gone, since, read, version, mayListen }) {
      const left = new AbortController();
      const share = shares.take(account, () => left.abort());
      if (!share || ended.signal.aborted) return undefined;
      gone.addEventListener('abort', share.leave);
      const over = AbortSignal.any([gone, left.signal, ended.signal]);
      return async (write) => {
        await write(EVENT_STREAM.retry);
        let position = since;
        while (!over.aborted && mayListen()) {
          const known = version();
          const answer = await read(position);
          if (!answer) break;
          const events = answer.changes.map(
            (change) => `id: ${writePosition(name, change.position)}\ndata: ${change.json}\n\n`,
          );
          // An event without data has the position behind the whole commit.
          if (events.length > 0 || position === null)
            events.push(`id: ${writePosition(name, answer.next)}\n\n`);
          if (events.length > 0) await write(events.join(''));
          position = answer.next;
          if (!answer.hasMore) await changed(known);
        }
        share.leave();
        if (gone.aborted) throw new ClientGone();

        async function changed(known: string | undefined): Promise<void> {
          const { checkMs, keepAlive, keepAliveMs } = EVENT_STREAM;
          for (let waited = checkMs; !over.aborted && version() === known; waited += checkMs) {
            await sleep(checkMs, undefined, { signal: over }).catch(() => undefined);
            if (waited % keepAliveMs !== 0) continue;
            await write(keepAlive);
            if (!mayListen()) return;
          }
        }
      };
    },
    end: () => ended.abort(),
  };
}
