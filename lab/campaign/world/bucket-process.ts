/** A model of S3 in a process of its own, see `bucket.ts`: requests fail there, or are never answered, as its parent says. */

import { fetchInto, startS3Server, type Trouble } from '../../../test/helpers/s3-server.ts';
import type { How, Order, Strike, Word } from './bucket.ts';
import { say, takeOrders } from './processes.ts';

/** Fewer than S3 lists at once, so that lists have several pages soon. */
const PAGE = 50;

const files = new Map<string, Buffer>();
const ways: { met: number; strikes: Strike[]; environment: Record<string, string> }[] = [];
for (let number = 0; number < Number(process.argv[2]); number += 1) {
  const server = await startS3Server(files, PAGE);
  const way = { met: 0, strikes: [] as Strike[], environment: server.environment };
  server.trouble = () => {
    way.met += 1;
    const strike = way.strikes.find(({ at }) => at === way.met);
    if (!strike) return undefined;
    say<Word>({ way: number, how: strike.how });
    return troubles[strike.how];
  };
  ways.push(way);
}

/** A process that is killed at a request gets no answer. */
const troubles: Record<How, Trouble> = {
  'kill-before': 'mute-before',
  'kill-after': 'mute-after',
  'cut-before': 'cut-before',
  'cut-after': 'cut-after',
  500: { status: 500, code: 'InternalError' },
  503: { status: 503, code: 'SlowDown' },
};

takeOrders(
  ways.map(({ environment }) => environment),
  (order: Order) => {
    if ('folder' in order) {
      fetchInto(order.folder, files);
      return 0;
    }
    const way = ways[order.way];
    const met = way?.met ?? 0;
    if (way) Object.assign(way, { met: 0, strikes: order.strikes });
    return met;
  },
);
