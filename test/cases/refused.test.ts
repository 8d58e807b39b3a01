/** Refused rows, and rows without a readable key: none of them makes another row look gone. */

import { describe } from 'vitest';
import { signal } from '../validate/support.ts';
import {
  after,
  answers,
  finds,
  mirrorsAll,
  pageOf,
  publishes,
  type Row,
  rowsOf,
  runCases,
  runs,
  type Step,
  statusLacks,
  statusSays,
  syncs,
  syncsUntil,
  upstream,
} from './bench.ts';

const DAY_MS = 86_400_000;

const signals = (count: number) => rowsOf(count, (at) => signal({ id: `s-${at}` }));
/** The row at a place is another one. */
const change = (at: number, changes: Row): Step =>
  upstream((rows) => rows.map((row, place) => (place === at ? { ...row, ...changes } : row)));
const goes = (at: number): Step => upstream((rows) => rows.toSpliced(at, 1));

const removed = (...ids: string[]) => finds(`SELECT id FROM LIST_history WHERE _ended_by = 'delete'`, ...ids);
const held = (...ids: string[]) =>
  finds(
    'SELECT id, _held_reason FROM LIST WHERE _held_since IS NOT NULL',
    ...ids.map((id) => [id, 'unkeyed']),
  );

describe('a row that was refused, and that a retry mirrors while its walk waits', () => {
  runCases([
    {
      it: 'stays: the walk has met it, refused or not',
      job: 'ai-signals',
      steps: [
        ...[publishes(0), upstream(signals(250)), change(5, { confidence: 'high' })],
        ...[answers(({ offset }) => (offset > 50 ? { status: 503 } : undefined)), syncs(75)],
        finds('SELECT next_offset, quarantined, finished_at FROM walks', [100, 1, null]),
        // As if a later release knew that value: no setting mends a contract.
        ({ write }) => write(`UPDATE quarantine SET body = json_set(body, '$.confidence', 0.5)`),
        ...[runs('quarantine retry', 0), finds(`SELECT count(*) FROM LIST WHERE id = 's-5'`, 1)],
        ...[answers(), syncsUntil(0, 20), finds('SELECT verdict, deleted FROM walks', ['snapshot', 0])],
        ...[finds('SELECT count(*), count(_held_since) FROM LIST', [250, 0]), removed()],
      ],
    },
  ]);
});

/** A list of signals that may change while it is read. */
const undated: Step = ({ state }) => {
  state.envelope = (rows, request, total) => ({
    ...{ generatedAt: null, source: 'published-signal-snapshot', mode: 'read-only' },
    ...pageOf(rows, request, total),
  });
};
/** Rows that are read again are counted in `quarantined` again. */
const proved = (verdict: string, ...more: unknown[]) =>
  finds('SELECT verdict, rows, quarantined, unkeyed, deleted FROM walks ORDER BY id DESC LIMIT 1', [
    verdict,
    ...more,
  ]);

describe('a row that does not fit', () => {
  const spoilt = [change(99, { confidence: 'high' }), change(250, { confidence: 'high' })];
  const unkeyed = [change(99, { id: '' }), change(250, { id: null })];
  runCases([
    {
      it: 'keeps nothing from being proven, not even as the last row of a page, and lets no row seem gone',
      job: 'ai-signals',
      steps: [
        ...[publishes(0), upstream(signals(360)), syncs(0), ...spoilt],
        ...[publishes(1), syncs(0), proved('snapshot', 360, 2, 0, 0)],
        ...[undated, syncs(0, { times: 3 }), proved('verified', 360, 4, 0, 0)],
        finds('SELECT count(*), count(_held_since) FROM LIST', [360, 0]),
      ],
    },
    {
      it: 'keeps nothing from being proven, where it shows no key either',
      job: 'ai-signals',
      steps: [
        ...[publishes(0), upstream(signals(360)), ...unkeyed, syncs(0), proved('snapshot', 358, 2, 2, 0)],
        ...[undated, syncs(0), proved('verified', 358, 4, 2, 0)],
      ],
    },
    {
      it: 'is no row that joins two pages: where a page shows no other, nothing is proven',
      job: 'ai-signals',
      steps: [
        ...[undated, upstream(signals(250))],
        upstream((rows) => rows.map((row, at) => (at >= 50 && at < 150 ? { ...row, id: '' } : row))),
        ...[syncs(75), finds('SELECT verdict FROM walks', 'union')],
      ],
    },
    {
      it: 'ends no walk that has read the list, though at the look at its head none fits',
      job: 'ai-signals',
      steps: [
        ...[undated, upstream(signals(360))],
        ({ state }) => {
          state.before = ({ nth }) => {
            if (nth === 5)
              state.rows = state.rows.map((row, at) => (at < 100 ? { ...row, confidence: 'high' } : row));
          };
        },
        ...[syncs(0), finds('SELECT status, api_calls, quarantined FROM walks', ['complete', 5, 100])],
      ],
    },
  ]);
});

describe('a refused row that has changed in the snapshot that takes the place of the one being read', () => {
  runCases([
    {
      it: 'is the row that it was, not another one under its key',
      job: 'ai-signals',
      steps: [
        ...[publishes(0), upstream(signals(250)), change(5, { confidence: 'high' })],
        (bench) => {
          bench.state.before = ({ nth }) => {
            if (nth === 2) for (const step of [publishes(1), change(5, { confidence: 'low' })]) step(bench);
          };
        },
        ...[syncs(0), finds('SELECT verdict, restarts FROM walks', ['snapshot', 1])],
        finds(`SELECT body ->> '$.confidence', times FROM quarantine WHERE resolved_at IS NULL`, ['low', 2]),
      ],
    },
    {
      it: 'goes with it, where that one lacks it: a retry mirrors it no more',
      job: 'ai-signals',
      steps: [
        ...[
          publishes(0),
          upstream(signals(250)),
          change(5, { confidence: 'high' }),
          change(7, { action: 1 }),
        ],
        (bench) => {
          bench.state.before = ({ nth }) => {
            if (nth === 2) for (const step of [publishes(1), goes(5)]) step(bench);
          };
        },
        ...[syncs(0), finds('SELECT verdict, restarts FROM walks', ['snapshot', 1])],
        finds('SELECT key FROM quarantine WHERE resolved_at IS NULL', 's-7'),
      ],
    },
  ]);
});

describe('a row that lost its key', () => {
  runCases([
    {
      it: 'is held where another without a key went, and goes with the third proof that lacks it',
      job: 'ai-signals',
      steps: [
        ...[publishes(0), upstream(signals(20)), change(3, { id: '' }), syncs(0)],
        ...[publishes(1), change(10, { id: '' }), goes(3), syncs(0), held('s-10')],
        statusSays(
          /^! ai-signals: the last proof lacks 1 row, and shows some without a readable key, which may be these\n.*three proofs in a row/m,
        ),
        ...[publishes(2), syncs(0), held('s-10'), removed()],
        ...[publishes(3), syncs(0), held(), removed('s-10'), statusLacks('readable key')],
      ],
    },
    {
      it: 'goes with the third proof, too, where the records of the first are kept no longer',
      job: 'ai-signals',
      settings: { MIRROR_KEEP_RECORDS: '1d' },
      steps: [
        ...[publishes(0), upstream(signals(20)), change(3, { id: '' }), syncs(0), after(2 * DAY_MS)],
        ...[publishes(1), change(10, { id: '' }), goes(3), syncs(0), held('s-10'), after(2 * DAY_MS)],
        ...[publishes(2), syncs(0), held('s-10'), after(2 * DAY_MS), answers(() => ({ status: 500 }))],
        ...[syncs(69), after(2 * DAY_MS), answers(), publishes(3), syncs(0), held(), removed('s-10')],
      ],
    },
    {
      it: 'is held no longer once it has its key again',
      job: 'ai-signals',
      steps: [
        ...[publishes(0), upstream(signals(20)), syncs(0)],
        ...[publishes(1), change(10, { id: '' }), syncs(0), held('s-10')],
        ...[publishes(2), change(10, { id: 's-10' }), syncs(0), held(), removed()],
        finds('SELECT count(*) FROM LIST', 20),
      ],
    },
    {
      it: 'is held, and shown by its content, where no contract says what identifies it',
      steps: [
        ...[upstream(rowsOf(30, (at) => ({ id: `n${at}`, title: `Title ${at}` }))), syncs(0)],
        ...[upstream((rows) => rows.map((row, at) => (at === 10 ? { title: row['title'] } : row))), syncs(0)],
        ...[held('n10'), finds('SELECT count(*) FROM LIST', 31)],
        statusSays(
          'the last proof lacks 1 row, and shows some without a readable key',
          '! news: some rows have no id, which identifies the others: these are known by their whole content',
        ),
        ...[syncs(0), held('n10'), syncs(0), mirrorsAll, removed('n10')],
      ],
    },
  ]);
});

describe('a refused row under the key of one that fits, where no contract says what identifies it', () => {
  const news = (count: number) => rowsOf(count, (at) => ({ id: `n${at}`, title: `Title ${at}` }));
  /** No column can hold a name with NUL. */
  const twin = (id: string) => ({ id, 'ti\0tle': 'another' });
  runCases([
    {
      it: 'on its page, before it, on an earlier page and on a later one',
      steps: [
        upstream([twin('n2'), twin('n230'), ...news(9), twin('n0'), ...news(240).slice(9), twin('n3')]),
        ...[syncs(0, { times: 3 }), finds('SELECT DISTINCT verdict FROM walks', 'verified')],
        finds('SELECT count(*), count(DISTINCT id), count(_held_since) FROM LIST', [240, 240, 0]),
        finds('SELECT count(*) FROM quarantine WHERE resolved_at IS NULL', 4),
      ],
    },
    {
      it: 'goes, and a row that the list lacks goes with the next proof',
      steps: [
        ...[upstream([...news(4), twin('n0')]), syncs(0, { times: 2 })],
        ...[upstream(news(3)), syncs(0, { times: 2 }), mirrorsAll, removed('n3')],
        finds('SELECT count(*) FROM quarantine WHERE resolved_at IS NULL', 0),
      ],
    },
  ]);
});

describe('a retry of a refused row under the key of another row', () => {
  const news = rowsOf(4, (at) => ({ id: `n${at}`, title: `Title ${at}` }));
  const unresolved = (...rows: unknown[]) =>
    finds(
      `SELECT problems ->> '$[0].expected' FROM quarantine WHERE resolved_at IS NULL ORDER BY id`,
      ...rows,
    );
  /** As if a later release could keep what it refused. */
  const mend =
    (body: string): Step =>
    ({ write, came }) => {
      write(`UPDATE quarantine SET body = '${body}'`);
      came.clear();
    };
  const own = 'a key of its own';
  const confidences = (...ofBoth: number[]) =>
    finds(`SELECT confidence FROM LIST WHERE id = 's-5' ORDER BY 1`, ...ofBoth);
  const twin = (changes: Row) =>
    upstream((rows) => [{ ...rows.find(({ id }) => id === 's-5'), ...changes }, ...rows]);
  const begins = [publishes(0), upstream(signals(20)), change(5, { confidence: 0.5 })];
  runCases([
    {
      it: 'leaves that row, and the refused one with the reason; both are kept once both fit',
      steps: [
        ...[upstream([...news, { id: 'n0', 'ti\0tle': 'another' }]), syncs(0)],
        ...[mend('{"id":"n0","title":"another"}'), runs('quarantine retry', 0), unresolved(own)],
        finds(`SELECT title FROM LIST WHERE id = 'n0'`, 'Title 0'),
        finds('SELECT count(*) FROM LIST_history', 0),
        ...[upstream([...news, { id: 'n0', title: 'another' }]), syncs(0, { times: 2 }), mirrorsAll],
        unresolved(),
      ],
    },
    {
      it: 'that has a contract, and shows both on one page',
      job: 'ai-signals',
      steps: [
        ...[...begins, twin({ confidence: 0.7 }), syncs(75), confidences(0.5), unresolved(own)],
        ...[runs('quarantine retry', 0), confidences(0.5), unresolved(own)],
        finds('SELECT count(*) FROM LIST_history', 0),
        ...[publishes(1), upstream(signals(20)), change(5, { confidence: 0.7 }), syncs(0)],
        ...[confidences(0.7), unresolved()],
      ],
    },
    {
      it: 'that has a contract, which a later release widens',
      job: 'ai-signals',
      steps: [
        ...[...begins, twin({ confidence: 'high' }), syncs(75), confidences(0.5)],
        ({ write }) => write(`UPDATE quarantine SET body = json_set(body, '$.confidence', 0.7)`),
        ...[runs('quarantine retry', 0), confidences(0.5), unresolved(own)],
      ],
    },
    {
      it: 'that a published snapshot shows on another page',
      job: 'ai-signals',
      steps: [
        ...[publishes(0), upstream(signals(250)), change(5, { confidence: 0.5 })],
        upstream((rows) => [...rows, { ...rows[5], confidence: 'high' }]),
        ...[syncs(75), confidences(0.5)],
        ({ write }) => write(`UPDATE quarantine SET body = json_set(body, '$.confidence', 0.7)`),
        ...[runs('quarantine retry', 0), confidences(0.5), unresolved(own)],
      ],
    },
    {
      it: 'keeps each of several',
      job: 'ai-signals',
      steps: [
        ...[...begins, twin({ confidence: 0.6 }), twin({ confidence: 0.7 }), syncs(75)],
        ...[confidences(0.5), unresolved(own, own)],
        finds(`SELECT body ->> '$.confidence' FROM quarantine ORDER BY 1`, 0.6, 0.7),
      ],
    },
    {
      it: 'keeps each of two that do not fit',
      job: 'ai-signals',
      steps: [
        ...[
          ...begins,
          change(5, { confidence: 'high' }),
          twin({ confidence: 'low' }),
          syncs(75, { times: 2 }),
        ],
        finds(`SELECT body ->> '$.confidence' FROM quarantine ORDER BY 1`, 'high', 'low'),
        ({ write }) => write(`UPDATE quarantine SET body = json_set(body, '$.confidence', id / 10.0)`),
        ...[runs('quarantine retry', 0), confidences(0.1), unresolved(own)],
      ],
    },
    {
      it: 'mirrors it all the same where the table has the row as it was before',
      job: 'ai-signals',
      steps: [
        ...[...begins, syncs(0), publishes(1), change(5, { confidence: 'high' }), syncs(0)],
        ({ write }) => write(`UPDATE quarantine SET body = json_set(body, '$.confidence', 0.7)`),
        ...[runs('quarantine retry', 0), confidences(0.7), unresolved()],
        finds('SELECT confidence FROM LIST_history', 0.5),
      ],
    },
  ]);
});
