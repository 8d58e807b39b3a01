/** A time means the same on the command line, in `/mirror/v1` and on the page, wherever the machine stands. */

import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { parseTime } from '../src/base/time.ts';
import { runMain } from './helpers/main.ts';
import { openServeBench, type ServeBench } from './helpers/serve-bench.ts';
import { getter } from './serve/client.ts';
import { linesIn, rowsIn } from './serve/page/support.ts';

const HOUR = 3_600_000;

let serve: ServeBench;
/** As of a time: how many rows there were, or what the refusal says. */
let faces: Record<string, (time: string) => Promise<number | string>>;

/** 20 rows from 12:00 on, 21 from 18:00 on; it is 20:00, in UTC. The machine shows 15:00. */
beforeAll(async () => {
  vi.stubEnv('TZ', 'America/New_York');
  serve = await openServeBench({ rows: 20, walked: ['news'], settings: { query: true, page: 'open' } });
  const { bench, url } = serve;
  bench.clock.advance(6 * HOUR);
  bench.upstream('news').rows.unshift(...bench.upstream('news').make(1));
  await bench.mirror('news');
  bench.clock.advance(2 * HOUR);
  const sql = 'SELECT count(*) AS rows FROM news';
  const { key } = serve.issue();
  faces = {
    async query(time) {
      const args = ['query', sql, '--json', '--as-of', time];
      const { code, stdout, stderr } = await runMain(args, { MIRROR_DIR: bench.dir }, bench.clock);
      expect([stdout === '', stderr]).toEqual([
        code !== 0,
        expect.stringMatching(code === 0 ? /^(note: .*\n)?$/ : /^.*\n$/),
      ]);
      return code === 0 ? JSON.parse(stdout)[0].rows : `${code} ${stderr.trim()}`;
    },
    async '/mirror/v1'(time) {
      const path = `/mirror/v1/news?select=_key&as_of=${encodeURIComponent(time)}`;
      const { status, json } = await getter(url, key)(path);
      return status === 200
        ? (json as unknown[]).length
        : `${status} ${(json as { message: string }).message}`;
    },
    async '/page/query'(asOf) {
      const body = JSON.stringify({ sql, asOf, limit: 1 });
      const headers = { 'content-type': 'application/json' };
      const answer = await fetch(`${url}/page/query`, { method: 'POST', headers, body });
      const lines = linesIn(await answer.text());
      const [failed] = lines.flatMap((line) => ('failed' in line ? [line.failed.message] : []));
      return failed === undefined ? Number(rowsIn(lines)[0]?.[0]) : `${answer.status} ${failed}`;
    },
    async '/page/query.json'(asOf) {
      const answer = await fetch(`${url}/page/query.json?${new URLSearchParams({ sql, asOf })}`);
      const body = (await answer.json()) as [{ rows: number }] & { failed?: { message: string } };
      return answer.ok ? body[0].rows : `${answer.status} ${body.failed?.message}`;
    },
  };
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await serve.close();
});

const answers = async (time: string) =>
  await Promise.all(Object.entries(faces).map(async ([face, ask]) => [face, await ask(time)] as const));

test.each([
  ['without a zone, in UTC', '2026-11-21T13:30', 20],
  ['without a zone, an hour that has not come where the machine stands', '2026-11-21 18:30:15.5', 21],
  ['with a zone', '2026-11-21T19:00+02:00', 20],
  ['as a while ago', '1h', 21],
  ['as a while ago, in words', '3 hours ago', 20],
])('%s: %s', async (_, time, rows) => {
  expect(await answers(time)).toEqual(Object.keys(faces).map((face) => [face, rows]));
});

describe('is refused with one line that says why', () => {
  const noSuch =
    /there is no time '.*': a month ends with its last day, hours end at 23, minutes and seconds/;
  const unread = /cannot read '.*' as a time; write 2026-03-01, 2026-03-01T12:00 \(UTC\)/;
  test.each([
    ['2026-02-30', noSuch],
    ['2026-00-10', noSuch],
    ['2026-11-21T24:00:00Z', noSuch],
    ['2026-11-21T13:00:60Z', noSuch],
    ['2026-11-21T13:00-01:60', noSuch],
    ['99999999999d', noSuch],
    ['yesterday', unread],
    ['', unread],
    ['21.11.2026', unread],
    ['2026-11-21T13:00 02:00', /a \+ in an address is written %2B/],
    ['1763726400000', unread],
  ])('%s', (time, line) => {
    expect(parseTime(time, Date.parse('2026-11-21T20:00:00Z'))).toEqual({
      problem: expect.stringMatching(line),
    });
  });

  test.each([
    ['2026-02-30', noSuch],
    ['yesterday', unread],
    ['2026-11-21T20:00:01Z', /2026-11-21T20:00:01\.000Z is yet to come/],
  ])('%s, at each face', async (time, line) => {
    for (const [face, answer] of await answers(time)) {
      expect([face, answer]).toEqual([face, expect.stringMatching(line)]);
      expect([face, answer]).toEqual([face, expect.stringMatching(/^(64|400) /)]);
    }
  });
});

test.each([
  ['2026-03-01', '2026-03-01T00:00:00.000Z'],
  ['2026-03-01T12:30', '2026-03-01T12:30:00.000Z'],
  ['2026-03-01 12:30:15.5', '2026-03-01T12:30:15.500Z'],
  ['2026-03-01T12:30+02:00', '2026-03-01T10:30:00.000Z'],
  ['2026-03-01T00:30:00-0300', '2026-03-01T03:30:00.000Z'],
  ['2024-02-29', '2024-02-29T00:00:00.000Z'],
  [' 2026-03-01 ', '2026-03-01T00:00:00.000Z'],
  ['2h', '2026-11-21T10:00:00.000Z'],
  ['1.5h', '2026-11-21T10:30:00.000Z'],
])('a time written as %j is %s', (text, time) => {
  const read = parseTime(text, Date.parse('2026-11-21T12:00:00Z'));
  expect('ms' in read && new Date(read.ms).toISOString()).toBe(time);
});
