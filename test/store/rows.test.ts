import { describe, expect, it } from 'vitest';
import { loadJobs } from '../../src/job/load.ts';
import type { Job, RowValues } from '../../src/job.ts';
import { differenceOf, openTable } from '../../src/store/rows.ts';
import { signal } from '../validate/support.ts';
import { bytesWritten, openTables } from './support.ts';

const jobs = await loadJobs();
const named = (name: string) => jobs.find((job) => job.name === name) as Job;

function open(name: string) {
  const connection = openTables(jobs);
  const job = named(name);
  let rows = openTable(connection, job, []);
  const { table } = job;
  return {
    connection,
    put(key: string, values: RowValues, now = 'now', walkId = 1) {
      const stored = rows.compare({ key, values }, key);
      if (!stored) return { change: 'new', number: rows.insert(key, values, walkId, now) };
      const { number, change } = stored;
      if (change === 'changed') rows.update(number, values, walkId, now);
      return { change, number };
    },
    row: (key: string) =>
      connection.prepare<[string], RowValues>(`SELECT * FROM ${table} WHERE _key = ?`).get(key),
    history: () => connection.prepare<[], RowValues>(`SELECT * FROM ${table}_history`).all(),
    /** As at the end of a walk; the next one opens the table anew. */
    remove(key: string) {
      connection.prepare(`DELETE FROM ${job.rows} WHERE _key = ?`).run(key);
      rows = openTable(connection, job, []);
    },
  };
}

const signalValues = (changes: Record<string, unknown> = {}): RowValues => ({
  ...named('ai-signals').contract?.columns(signal(changes)),
  extra: null,
});
describe('a row', () => {
  it('is new, then the same, then changed, and keeps its number', () => {
    const { put, row } = open('news');
    const first = put('k', { _body: '{"a":1}' }, 't1');
    expect(first.change).toBe('new');
    expect(put('k', { _body: '{"a":1}' }, 't2')).toEqual({ change: 'none', number: first.number });
    expect(put('k', { _body: '{"a":2}' }, 't3', 7)).toEqual({ change: 'changed', number: first.number });
    expect(row('k')).toEqual({
      _body: '{"a":2}',
      _held_reason: null,
      _held_since: null,
      _key: 'k',
      _first_seen_at: 't1',
      _changed_at: 't3',
      _walk_id: 7,
    });
  });

  it('that did not change writes not a byte', () => {
    for (const [name, values] of [
      ['news', { _body: '{"a":1}' }],
      ['ai-signals', signalValues()],
    ] as const) {
      const { connection, put } = open(name);
      put('k', values);
      expect(bytesWritten(connection, () => put('k', values))).toBe(0);
      expect(bytesWritten(connection, () => put('other', values))).toBeGreaterThan(0);
    }
  });

  it('that comes back is the same row: it was first seen when it was', () => {
    const { put, remove, row } = open('news');
    put('k', { _body: '{"a":1}' }, 't1');
    remove('k');
    expect(put('k', { _body: '{"a":1}' }, 't9').change).toBe('new');
    expect(row('k')).toMatchObject({ _first_seen_at: 't1', _changed_at: 't9' });
  });
});

describe('a row whose JSON is written in another way', () => {
  const before = '{"id":1,"a":{"b":1.5,"c":[1,2]},"s":"é"}';

  it.each([
    '{"a":{"c":[1,2],"b":1.5},"s":"é","id":1}',
    '{ "id": 1, "a": {"b":1.50,"c":[1, 2]}, "s": "\\u00e9" }',
  ])('has not changed: %s', (after) => {
    const { connection, put, history } = open('news');
    put('1', { _body: before });
    expect(bytesWritten(connection, () => expect(put('1', { _body: after }).change).toBe('none'))).toBe(0);
    expect(history()).toEqual([]);
  });

  it.each(['{"id":1,"a":{"b":1.5,"c":[2,1]},"s":"é"}', '{"id":1,"a":{"b":1.5,"c":[1,2]},"s":"é","x":null}'])(
    'has changed where it says something else: %s',
    (after) => {
      const { put, history } = open('news');
      put('1', { _body: before }, 't1');
      expect(put('1', { _body: after }, 't2').change).toBe('changed');
      expect(history()).toMatchObject([{ _body: before }]);
    },
  );

  it('has changed where only digits differ that a double has not', () => {
    const [one, other] = ['{"a":12345678901234567890}', '{"a":12345678901234567891}'];
    expect(differenceOf(one, other, [])).toBe('changed');
    expect(differenceOf('{"a":0.12345678901234567,"b":1}', '{"b":1,"a":0.12345678901234567}', [])).toBe(
      'none',
    );
  });
});
