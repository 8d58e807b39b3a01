/** As of when a copy is complete: when the first of its pages was asked for, whatever its run had to wait for before. */

import { describe } from 'vitest';
import {
  after,
  answers,
  type Reply,
  rowsOf,
  runCases,
  runs,
  type Step,
  statusSays,
  syncs,
  syncsUntil,
  upstream,
} from './bench.ts';

const HOUR = 3_600_000;
const list = upstream(rowsOf(250, (at) => ({ id: `n${at}` })));
const isGone = (): Reply => ({ status: 503, json: { error: 'maintenance', message: 'back at noon' } });
const query = 'query --max-age 10m SELECT/**/count(*)FROM/**/news';

/** When the first page that is in the mirror was asked for. */
const isCompleteAsOf: Step = async ({ sql }) => {
  const [found] = sql<{ asOf: string; asked: string }>(
    `SELECT complete_as_of AS asOf, (SELECT min(at) FROM requests WHERE status = 200) AS asked FROM freshness WHERE job = 'news'`,
  );
  if (found?.asOf !== found?.asked)
    throw new Error(`complete as of ${found?.asOf}, asked at ${found?.asked}`);
};

describe('a walk that had to wait', () => {
  runCases([
    {
      it: 'for its first page is as fresh as that page: status says so, and --max-age lets reports read it',
      steps: [
        ...[list, answers(isGone), syncs(75), after(50 * HOUR), syncs(75), after(HOUR)],
        ...[answers(), syncsUntil(0, 3), isCompleteAsOf],
        ...[statusSays(/^news +250 +\d+s ago +\d+s ago +verified +idle/m), runs(query, 0, '250')],
      ],
    },
    {
      it: 'for a later page is as old as its first one, and --max-age refuses it',
      steps: [
        ...[list, answers(({ offset }) => (offset > 50 ? isGone() : undefined)), syncs(75), after(5 * HOUR)],
        ...[answers(), syncsUntil(0, 3), isCompleteAsOf],
        ...[statusSays(/^news +250 +5h ago +5h ago +verified/m), runs(query, 75, 'older than 10m: news')],
      ],
    },
    {
      it: 'for the quota is said to wait until when, and who waits',
      steps: [
        ...[list, syncs(0), after(HOUR)],
        answers(() => ({ ...isGone(), status: 429, headers: { 'retry-after': '1800' } })),
        ...[syncs(75), statusSays(/^news .* waits 30m \(retry_after\) /m, / next try in 30m$/m)],
      ],
    },
  ]);
});
