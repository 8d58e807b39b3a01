/** Refused rows, and rows without a readable key: none of them makes another row look gone. */

import { describe } from 'vitest';
import { signal } from '../validate/support.ts';
import {
  answers,
  finds,
  mirrorsAll,
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
  const proves = (rows: number): Step[] => [
    ...[syncs(0, { times: 3 }), finds('SELECT DISTINCT verdict FROM walks', 'verified')],
    finds('SELECT count(*), count(DISTINCT id), count(_held_since) FROM LIST', [rows, rows, 0]),
    finds('SELECT count(*) FROM quarantine WHERE resolved_at IS NULL', 1),
  ];
  runCases([
    { it: 'on its page', steps: [upstream([...news(4), twin('n0')]), ...proves(4)] },
    { it: 'before it', steps: [upstream([twin('n2'), ...news(4)]), ...proves(4)] },
    { it: 'on a later page', steps: [upstream([...news(240), twin('n0')]), ...proves(240)] },
    { it: 'on an earlier page', steps: [upstream([twin('n230'), ...news(240)]), ...proves(240)] },
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
