/** Where the rows are in a response, and responses that are errors whatever their status. */

import { describe } from 'vitest';
import {
  answers,
  type Case,
  envelope,
  finds,
  mirrorsAll,
  pageOf,
  type Reply,
  rowsOf,
  runCases,
  runs,
  statusLacks,
  statusSays,
  syncs,
  upstream,
  versions,
} from './bench.ts';

const list = rowsOf(150, (at) => ({ id: `n${at}`, title: `Title ${at}` }));
const says = (json: unknown, status = 200) => answers((): Reply => ({ json, status }));
const asEver = answers();

describe('a first response that is none of the list', () => {
  const firsts: [string, unknown, number, string | RegExp][] = [
    ['errors alone', { errors: [{ code: 'UPSTREAM_TIMEOUT', message: 'later' }] }, 65, 'UPSTREAM_TIMEOUT'],
    ['a text', { Note: '5 calls per minute' }, 65, '5 calls per minute'],
    ['two lists', { data: [{ a: 1 }], matches: [{ b: 1 }], included: [{ z: 1 }] }, 65, /data or matches/],
  ];
  runCases(
    firsts.map(
      ([name, json, code, message]): Case => ({
        it: `is not stored, and what came is said: ${name}`,
        job: 'meme-signals',
        steps: [
          ...[upstream(list), says(json), syncs(code, { says: message })],
          finds('SELECT count(*) FROM LIST', 0),
          ...[asEver, syncs(0), mirrorsAll],
        ],
      }),
    ),
  );
  runCases([
    {
      it: 'is not stored where an empty list stands beside facets',
      steps: [
        says({ articles: [], facets: [{ id: 'BTC', count: 3 }], total: 0, hasMore: false }),
        ...[syncs(0), finds('SELECT count(*) FROM LIST', 0), asEver],
        envelope((rows, request, total) => ({
          ...pageOf(rows, request, total).pagination,
          articles: rows,
          facets: [{ id: 'BTC' }],
        })),
        ...[upstream(list), syncs(0), mirrorsAll],
      ],
    },
  ]);
});

describe('an error with status 200, later', () => {
  runCases([
    {
      it: 'leaves the rows, is no empty list, and is named',
      steps: [
        ...[upstream(list), syncs(0)],
        ...[says({ rows: [], error: 'backend gone' }), syncs(65, { says: 'backend gone' })],
        ...[says({ success: false, data: null }), syncs(65)],
        ...[asEver, syncs(0), mirrorsAll, versions(0)],
      ],
    },
    {
      it: 'is none where rows come with it, or where it only counts',
      steps: [
        envelope((rows, request, total) => ({
          ...pageOf(rows, request, total),
          errors: ['one source is late'],
          error: 0,
        })),
        ...[upstream(list), syncs(0), mirrorsAll],
      ],
    },
  ]);
});

describe('usage', () => {
  runCases([
    {
      it: 'is no error, which it names',
      job: 'usage',
      steps: [
        ...[says({ error: 'no_plan', message: 'nothing here' }), syncs(65, { says: 'nothing here' })],
        ...[says({ success: false, message: 'nothing here' }), syncs(65, { says: 'nothing here' })],
        finds('SELECT count(*) FROM LIST', 0),
      ],
    },
    {
      it: 'is any other response, whatever it counts',
      job: 'usage',
      steps: [
        ...[says({ code: 0, message: 'success', data: { used: 5 } }), syncs(0)],
        ...[says({ errors: { today: 3 }, error: 0 }), syncs(0), says({ message: 'ok', used: 7 }), syncs(0)],
        finds('SELECT count(*) FROM LIST', 3),
      ],
    },
  ]);
});

describe('an envelope that moved', () => {
  runCases([
    {
      it: 'is followed in the second run that misses it, and noted',
      steps: [
        envelope((rows, request, total) => ({ data: rows, ...pageOf(rows, request, total).pagination })),
        ...[upstream(list), syncs(0), mirrorsAll],
        envelope(pageOf),
        ...[syncs(65, { says: /data.*rows/ }), syncs(0), mirrorsAll, versions(0)],
        finds(`SELECT path, detail FROM drift WHERE kind = 'moved-rows'`, ['data', 'rows']),
        statusSays(
          '! news: its rows moved in the response, from data to rows, and are read there\n  → MIRROR_ROWS_NEWS=rows confirms it',
        ),
        ...[syncs(0, { settings: { MIRROR_ROWS_NEWS: 'rows' } }), statusLacks('moved')],
      ],
    },
    {
      it: 'is held to while the place is there, whatever else comes',
      steps: [
        envelope((rows, request, total) => ({ data: rows, ...pageOf(rows, request, total).pagination })),
        ...[upstream(list), syncs(0)],
        envelope((rows, request, total) => ({
          data: rows,
          rows: [{ id: 'ad' }],
          ...pageOf(rows, request, total).pagination,
        })),
        ...[syncs(0, { times: 3 }), mirrorsAll, versions(0)],
      ],
    },
    {
      it: 'is not followed to a place that comes and goes',
      steps: [
        ...[upstream(list), syncs(0)],
        ...[says({ maintenance: [{ id: 'x' }] }), syncs(65), asEver, syncs(0)],
        ...[says({ maintenance: [{ id: 'x' }] }), syncs(65), asEver, syncs(0), mirrorsAll, versions(0)],
      ],
    },
  ]);
});

describe('an empty list', () => {
  const empty = { offset: 0, limit: 100, total: 0, returned: 0, hasMore: false };
  runCases([
    {
      it: 'may be null, on the first day and later',
      steps: [
        ...[says({ rows: null, pagination: empty }), syncs(0), finds('SELECT count(*) FROM LIST', 0)],
        ...[asEver, upstream(list.slice(0, 8)), syncs(0), mirrorsAll],
        ...[says({ rows: null, pagination: empty }), syncs(0, { times: 2 })],
        finds('SELECT count(*) FROM LIST', 0),
      ],
    },
    {
      it: 'is none where null comes without a word on the total',
      steps: [
        ...[upstream(list), syncs(0), says({ rows: null, pagination: { ...empty, total: 150 } }), syncs(65)],
        finds('SELECT count(*) FROM LIST', 150),
      ],
    },
  ]);
});

describe('MIRROR_ROWS_…', () => {
  runCases([
    {
      it: 'says where the rows are, beside other lists, and on a list that is known',
      settings: { MIRROR_ROWS_NEWS: 'data.results' },
      steps: [
        envelope((rows, request, total) => ({
          data: { results: rows, facets2: [{ a: 1 }] },
          rows: [{ id: 'ad' }],
          ...pageOf(rows, request, total).pagination,
        })),
        ...[upstream(list), syncs(0), mirrorsAll],
      ],
    },
    {
      it: 'fails where there is no list, and names the setting; a wrong one is refused',
      steps: [
        ...[upstream(list), runs('sync news', 65, 'MIRROR_ROWS_NEWS', { MIRROR_ROWS_NEWS: 'data' })],
        syncs(0),
        runs('sync news', 78, 'MIRROR_ROWS_AI_SIGNALS', { MIRROR_ROWS_AI_SIGNALS: 'rows' }),
        runs('sync news', 78, 'MIRROR_ROWS_NEWS', { MIRROR_ROWS_NEWS: 'a..b' }),
      ],
    },
  ]);
});
