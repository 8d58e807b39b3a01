/** Pages that do not come: too heavy, unreadable, refused, failing. Nothing stops a list for ever. */

import { describe } from 'vitest';
import {
  after,
  answers,
  asks,
  finds,
  mirrorsAll,
  type PageRequest,
  type Reply,
  type Row,
  rowsOf,
  runCases,
  type Step,
  statusLacks,
  statusSays,
  syncs,
  syncsUntil,
  upstream,
  versions,
} from './bench.ts';

const list = (count: number, more: Row = {}) =>
  rowsOf(count, (at) => ({ id: `n${at}`, title: `Title ${at}`, ...more }));
const atHead = (id: string): Step => upstream((rows) => [{ id, title: 'new' }, ...rows]);
const covers = ({ offset, limit }: PageRequest, at: number) => offset <= at && at < offset + limit;
const error = (status: number): Reply => ({ status, json: { error: 'nope', message: 'not this one' } });

describe('a page that is too heavy', () => {
  runCases([
    {
      it: 'is asked for in halves where it is larger than may be',
      steps: [
        answers((request) => (request.limit > 30 ? { text: `${' '.repeat(16 * 2 ** 20)}{}` } : undefined)),
        ...[upstream(list(60)), syncs(0), mirrorsAll],
        asks('0', '0+50', '0+25', '24+25', '48+25', '0+25'),
      ],
    },
    {
      it: 'is asked for in halves where the API gives up on it twice',
      steps: [
        answers((request) => (request.limit > 12 ? error(504) : undefined)),
        ...[upstream(list(200)), syncsUntil(0, 30), mirrorsAll, syncsUntil(0, 30), versions(0)],
      ],
    },
    {
      it: 'is asked for in halves where the first page is too heavy as well, and a glance comes before the walk',
      steps: [
        ...[
          upstream(list(200)),
          answers(({ offset }) => (offset > 0 ? error(500) : undefined)),
          syncsUntil(69, 1),
        ],
        answers((request) => (request.limit > 12 ? error(502) : undefined)),
        // The governor waits for up to a quarter of an hour.
        ...Array.from({ length: 12 }, () => [after(15 * 60_000), syncsUntil(69, 1)]).flat(),
        ...[syncsUntil(0, 30), mirrorsAll],
      ],
    },
    {
      it: 'is twice as long again behind four that came',
      steps: [
        answers((request) => (covers(request, 5) && request.limit > 50 ? error(502) : undefined)),
        ...[upstream(list(1_000)), syncsUntil(0, 8), mirrorsAll],
        asks(
          ...['0', '0+50', '49+50', '98+50', '147+50', '196'],
          ...['295', '394', '493', '592', '691', '790', '889', '988', '0', '0+50'],
        ),
      ],
    },
    {
      it: 'is passed over where not even three rows come: the rest is mirrored, and status names the place',
      steps: [
        answers((request) => (covers(request, 250) ? error(504) : undefined)),
        ...[upstream(list(400)), syncsUntil(75, 20)],
        statusSays(
          /^! news: its last walk did not read all rows: the page at offset 249 does not come .*\n {2}→ the others are mirrored, and none is removed;/m,
        ),
        ...[
          finds('SELECT count(*) >= 397 FROM LIST', 1),
          finds(`SELECT verdict FROM walks WHERE verdict IS NOT NULL`, 'union'),
        ],
        ...[answers(), syncs(0), mirrorsAll],
      ],
    },
  ]);
});

describe('a page that cannot be read', () => {
  const unreadable: [string, string | Reply][] = [
    ['no JSON', '{"rows":['],
    ['a page of HTML', '<html>busy</html>'],
    ['nothing', ''],
  ];
  runCases(
    unreadable.map(([name, text]) => ({
      it: `is passed over, and what is behind it comes: ${name}`,
      steps: [
        answers((request) => (covers(request, 160) ? { text: String(text) } : undefined)),
        ...[upstream(list(400)), syncs(75), finds('SELECT count(*) >= 397 FROM LIST', 1)],
        ...[atHead('first'), syncs(75), finds(`SELECT count(*) FROM LIST WHERE _key = 'first'`, 1)],
        statusSays(
          /^! news: its last walk did not read all rows: the page at offset 1[56]\d does not come /m,
        ),
        ...[answers(), syncs(0), mirrorsAll, statusLacks('offset')],
      ],
    })),
  );
  runCases([
    {
      it: 'is an outage where the one behind it does not come either: the walk waits at its place',
      steps: [
        ...[upstream(list(400)), answers(({ offset }) => (offset > 50 ? { text: 'gone' } : undefined))],
        ...[syncs(65), finds('SELECT next_offset FROM walks', 100), finds('SELECT count(*) FROM LIST', 100)],
        ...[answers(), syncs(0), mirrorsAll],
      ],
    },
    {
      it: 'is an outage, after which a row that has moved up to a page before is not missed',
      steps: [
        ...[upstream(list(400)), answers(({ offset }) => (offset > 250 ? { text: 'gone' } : undefined))],
        ...[syncs(65), upstream((rows) => rows.filter(({ id }) => id !== 'n150'))],
        ...[answers(), syncs(0), finds(`SELECT count(*) FROM LIST WHERE _key <> 'n150'`, 399)],
      ],
    },
    {
      it: 'removes no row that stands there',
      steps: [
        ...[upstream(list(400)), syncs(0)],
        answers((request) => (covers(request, 160) ? { text: '[' } : undefined)),
        ...[syncs(75, { times: 3 }), finds('SELECT count(*) FROM LIST', 400), versions(0)],
      ],
    },
  ]);
});

describe('an offset that the API refuses', () => {
  runCases(
    [400, 404, 413, 414, 416, 422].map((status) => ({
      it: `ends the walk, the next one begins at the head: ${status}`,
      steps: [
        answers(({ offset, limit }) => (offset + limit > 200 ? error(status) : undefined)),
        ...[upstream(list(300)), syncs(75, { says: /offset/ }), finds('SELECT count(*) >= 180 FROM LIST', 1)],
        ...[atHead('second'), syncs(75), atHead('third'), syncs(75)],
        finds(`SELECT _key FROM LIST WHERE title = 'new' ORDER BY _key`, 'second', 'third'),
        statusSays(
          new RegExp(
            `: the rows from offset 19\\d on were not read: answered ${status} \\(nope: not this one\\)\n`,
          ),
        ),
        versions(0),
      ],
    })),
  );
  runCases(
    [401, 403, 408, 425, 429, 503].map((status) => ({
      it: `waits at its place for ${status}`,
      steps: [
        answers(({ offset }) => (offset > 50 ? error(status) : undefined)),
        ...[upstream(list(300)), syncs(status < 404 ? 77 : 75)],
        finds('SELECT next_offset, finished_at FROM walks', [100, null]),
      ],
    })),
  );
  runCases([
    {
      it: 'is the whole list where it is the first page: the run fails, and its rows stay',
      steps: [
        ...[
          upstream(list(50)),
          syncs(0),
          answers(() => error(400)),
          syncs(69),
          finds('SELECT count(*) FROM LIST', 50),
        ],
        ...[answers(), syncs(0), mirrorsAll],
      ],
    },
  ]);
});

describe('an offset at which the API fails', () => {
  const failing = answers(({ offset }) => (offset > 150 ? error(500) : undefined));
  runCases([
    {
      it: 'is given up in the third run if the first page comes; the next walk begins at the head',
      steps: [
        ...[upstream(list(400)), failing, syncs(69, { times: 2 }), syncs(75)],
        ...[atHead('new'), syncs(69), finds(`SELECT count(*) FROM LIST WHERE _key = 'new'`, 1)],
        ...[answers(), syncs(0), mirrorsAll],
      ],
    },
    ...(
      [
        ['without its rows', { json: {} }],
        ['with rows elsewhere, that come nowhere else', { json: { suggestions: [{ word: 'x' }] } }],
        ['with an error under status 200', { json: { success: false, message: 'offset too large' } }],
        ['by a redirect', { status: 302, text: '', headers: { location: '/login' } }],
        ['with 410', { status: 410, text: '' }],
        ['with 204', { status: 204, text: '' }],
        ['with 501', { status: 501, text: '' }],
      ] as [string, Reply][]
    ).map(([what, reply]) => ({
      it: `may fail ${what}`,
      steps: [
        ...[upstream(list(400)), answers(({ offset }) => (offset > 150 ? reply : undefined))],
        // The governor waits for up to a quarter of an hour behind a 501.
        ...[syncsUntil(75, 30), finds('SELECT count(*) FROM LIST', 199)],
        finds(
          `SELECT verdict, error LIKE 'the rows from offset 198 on were not read%' FROM walks WHERE id = 1`,
          ['union', 1],
        ),
        ...[atHead('new'), syncsUntil(75, 30), finds(`SELECT count(*) FROM LIST WHERE _key = 'new'`, 1)],
        ...[answers(), syncsUntil(0, 30), mirrorsAll],
      ],
    })),
    {
      it: 'is waited for while the API is down as a whole',
      steps: [
        ...[upstream(list(400)), failing, syncs(69), answers(() => error(500)), syncs(69, { times: 4 })],
        finds(`SELECT finished_at, next_offset FROM walks WHERE kind = 'walk'`, [null, 199]),
        ...[answers(), syncsUntil(0, 20), mirrorsAll],
      ],
    },
    {
      it: 'is tried in turn with a glance at the head where the quota has one call for both',
      settings: { MARKET_API_QUOTA: '1/1h' },
      steps: [
        ...[upstream(list(400)), failing],
        ...[75, 75, 69, 75, 69, 75, 75].flatMap((code) => [after(60 * 60_000), syncs(code)]),
        ...[
          asks('0', '99', '198', '0', '198', '0', '198'),
          finds('SELECT verdict FROM walks WHERE id = 1', 'union'),
        ],
      ],
    },
    {
      it: 'keeps no glance from the head meanwhile',
      steps: [
        ...[upstream(list(400)), failing, syncs(69), atHead('new'), syncs(69)],
        finds(`SELECT count(*) FROM LIST WHERE _key = 'new'`, 1),
        finds(`SELECT count(*) FROM walks WHERE kind = 'glance' AND status = 'complete'`, 1),
      ],
    },
  ]);
});
