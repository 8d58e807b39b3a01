import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { defineJob } from '../src/job.ts';
import type { DiscoveredShape } from '../src/validate/checked.ts';
import { checkAgain, checkPage, checkSnapshot, describeBreach } from '../src/validate.ts';
import { checkNews, checkSignals, job, signal, signalPage } from './validate/support.ts';

describe('a page', () => {
  it('has one row a key, the last one it brought', () => {
    const page = checkSignals(
      signalPage([signal({ asset: 'A' }), signal({ id: 's-2' }), signal({ asset: 'B' })]),
    );
    expect(page.keys).toEqual(['s-1', 's-2', 's-1']);
    expect(page.accepted.map(({ values }) => values['asset'])).toEqual(['B', signal()['asset']]);
    expect(page.received).toBe(3);
  });

  it('whose envelope names a member twice is read by the last', () => {
    const text = signalPage([signal()])
      .replace('{', '{"rows":[5],')
      .replace('"hasMore"', '"hasMore":true,"hasMore"');
    const page = checkSignals(text);
    expect(page).toMatchObject({ keys: ['s-1'], received: 1, pagination: { hasMore: false } });
    const news = '{"data":{"rows":[5]},"data":{"rows":5,"rows":[{"id":7}]}}';
    expect(checkPage(job('news'), { text: () => news }, JSON.parse(news), undefined).accepted).toMatchObject([
      { key: '7', values: { _body: '{"id":7}' } },
    ]);
  });

  it('tells its fields where their shape is not specified, and only then', () => {
    expect(checkSignals(signalPage([signal()])).fields).toEqual({ rows: 0, fields: [] });
    const { fields } = checkNews(['{"id":1,"a":{"b":null}}', '5']);
    expect(fields.rows).toBe(1);
    expect(fields.fields.map(({ path }) => path.join('.'))).toEqual(['id', 'a.b']);
  });
});

describe('a first page of which no row fits', () => {
  const breachOf = (rows: unknown[]) => describeBreach(checkSignals(signalPage(rows)));
  const bad = signal({ confidence: 'high' });

  it('halts the dataset, and says why', () => {
    expect(breachOf([bad])).toContain('confidence: expected a value of type number, received string');
  });

  it('does not where some row fits, or where none came', () => {
    expect(breachOf([bad, signal()])).toBeUndefined();
    expect(breachOf([])).toBeUndefined();
  });

  it('shows no character that a terminal would obey', () => {
    const page = checkNews(['{"\\u001b[31m":"\\ud800"}']);
    expect(describeBreach(page)).toMatch(/^[\x20-\x7e]+$/);
  });
});

describe('a row that was refused', () => {
  it('stays so where no page has shown yet which field is its key', () => {
    const again = (known?: DiscoveredShape) => checkAgain(job('news'), '{"id":"n-1"}', known);
    expect(again()).toMatchObject({
      keys: [null],
      accepted: [],
      refused: [{ problems: [{ received: 'none yet' }] }],
    });
    const shape = { rowsPath: [], keyField: 'id', sharedKeys: [] };
    expect(again(shape)).toMatchObject({ accepted: [{ key: 'n-1' }], refused: [] });
  });

  it('is known again without a key, whatever its volatile columns say, however they are named', () => {
    const odd = defineJob('odd', {
      ...{ about: '', path: '/odd', scope: 'odd:read', schedule: 'off' },
      contract: {
        page: z.strictObject({}),
        row: z.strictObject({ id: z.string(), name: z.string(), ageMS: z.number() }),
        key: ({ id }) => id,
        volatile: ['ageMS'],
      },
    });
    const identities = [1, 2].map(
      (ageMS) => checkAgain(odd, JSON.stringify({ name: 'x', ageMS }), undefined).refused[0]?.identity,
    );
    expect(identities[0]).toBe(identities[1]);
  });
});

describe('a snapshot', () => {
  it('is the response as it was sent, whatever it looks like', () => {
    for (const text of ['{ "used" : 1.0 }', '[1, 2]', 'null', '"x"']) {
      const { accepted, keys } = checkSnapshot(text, JSON.parse(text), 'k', 't');
      expect(accepted).toEqual([{ key: 'k', values: { _fetched_at: 't', _body: text } }]);
      expect(keys).toEqual(['k']);
    }
  });

  it('has the fields of an object, and none otherwise', () => {
    expect(checkSnapshot('{"a":{"b":1}}', { a: { b: 1 } }, 'k', 't').fields).toMatchObject({
      rows: 1,
      fields: [{ path: ['a', 'b'] }],
    });
    expect(checkSnapshot('[{"a":1}]', [{ a: 1 }], 'k', 't').fields).toEqual({ rows: 0, fields: [] });
  });

  it('has its names in their plain spelling, and is refused where it names a member twice', () => {
    const check = (text: string) => checkSnapshot(text, JSON.parse(text), 'k', 't');
    expect(check('{"\\u0061" : "\\u0061"}').accepted[0]?.values['_body']).toBe('{"a" : "\\u0061"}');
    expect(check('{"q":{"a":1,"a":2}}')).toMatchObject({
      accepted: [],
      refused: [{ problems: [{ path: 'q.a' }] }],
    });
  });

  it('is refused where no table can hold it', () => {
    const text = `{"a":${'['.repeat(1_200)}${']'.repeat(1_200)}}`;
    const { accepted, refused } = checkSnapshot(text, JSON.parse(text), 'k', 't');
    expect(accepted).toEqual([]);
    expect(refused).toMatchObject([
      { key: null, body: text, problems: [{ expected: expect.stringContaining('64 levels') }] },
    ]);
  });
});

describe('a refused row without a key is known again', () => {
  const identityOf = (text: string) => {
    const [row] = checkNews([text]).refused;
    expect(row).toMatchObject({ key: null });
    return row?.identity;
  };
  const news = (members: string) => `{"id":"\\ud800",${members}}`;

  it('by what its contract does not call volatile', () => {
    const identityOf = (changes: Record<string, unknown>) => {
      const [row] = checkSignals(signalPage([signal({ id: 5, ...changes })])).refused;
      expect(row).toMatchObject({ key: null });
      return row?.identity;
    };
    const { quality } = signal() as { quality: object };
    const known = identityOf({});
    expect(known).toMatch(/^[0-9a-f]{64}$/);
    expect(identityOf({ quality: { ...quality, ageSeconds: 99, freshness: 'stale' } })).toBe(known);
    expect(identityOf({ quality: { ...quality, grade: 'B' } })).not.toBe(known);
    expect(identityOf({ confidence: 0.8 })).not.toBe(known);
    const reordered = Object.fromEntries(Object.entries(signal({ id: 5 })).reverse());
    expect(checkSignals(signalPage([reordered])).refused[0]?.identity).toBe(known);
  });

  it('by its texts that are neither a time nor a number, where it has no contract', () => {
    const known = identityOf(news('"title":"up","in":{"deep":"x"}'));
    const moved =
      '"title":"up","in":{"deep":"x"},"at":"2026-11-23T10:00:00Z","p":"-1.5%","n":3,"no":null,"yes":true';
    expect(identityOf(news(moved))).toBe(known);
    expect(identityOf(news('"in":{"deep":"x"},"title":"up"'))).toBe(known);
    expect(identityOf(news('"title":"down","in":{"deep":"x"}'))).not.toBe(known);
    expect(identityOf(news('"title":"up","in":{"other":"x"}'))).not.toBe(known);
    expect(identityOf(news('"title":"up","in":{"deep":"y"}'))).not.toBe(known);
    expect(identityOf(news('"title":"up","in":{"deep":"x"},"note":"v1.5"'))).not.toBe(known);
  });

  it('by its text where nothing in it is stable', () => {
    expect(identityOf('5')).not.toBe(identityOf('6'));
    expect(identityOf('[[1]]')).toBe(identityOf('[[1]]'));
    expect(identityOf('[1]')).not.toBe(identityOf('[2]'));
  });
});

describe('a row that was refused, looked at again', () => {
  it('comes to what it would have come to on its page', () => {
    const fit = JSON.stringify(signal({ lane: 'hot' }));
    expect(checkAgain(job('ai-signals'), fit, undefined)).toMatchObject({
      accepted: [{ key: 's-1', values: { asset: signal()['asset'], extra: '{"lane":"hot"}' } }],
      drifts: [{ kind: 'extra-property' }],
    });
    const unfit = JSON.stringify(signal({ asset: 5 }));
    expect(checkAgain(job('ai-signals'), unfit, undefined).refused).toMatchObject([
      { key: 's-1', body: unfit },
    ]);
  });

  it('goes by the shape discovered of its dataset', () => {
    const shape = { rowsPath: ['rows'], keyField: 'slug', sharedKeys: ['b'] };
    expect(checkAgain(job('news'), '{"id":1,"slug":"a"}', shape).keys).toEqual(['a']);
    expect(checkAgain(job('news'), ' {"id":1,"slug":"b"}', shape).accepted).toEqual([
      { key: expect.stringMatching(/^b#/), values: { _body: '{"id":1,"slug":"b"}' } },
    ]);
    expect(checkAgain(job('news'), '5', shape).refused).toHaveLength(1);
  });
});
