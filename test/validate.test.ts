import { describe, expect, it } from 'vitest';
import type { DiscoveredShape } from '../src/validate/checked.ts';
import { checkAgain, checkPage, checkSnapshot, describeBreach, unknownShape } from '../src/validate.ts';
import { checkSignals, job, signal, signalPage, sorted } from './validate/support.ts';

describe('a page', () => {
  it('has one row an id, the last one it brought, and refuses another under that id', () => {
    const page = checkSignals(
      signalPage([signal({ asset: 'A' }), signal({ id: 's-2' }), signal({ asset: 'B' })]),
    );
    expect(page.keys).toEqual(['s-1', 's-2', 's-1']);
    expect(page.accepted.map(({ values }) => values['asset'])).toEqual([signal()['asset'], 'B']);
    expect(page.refused).toMatchObject([{ key: 's-1', problems: [{ expected: 'a key of its own' }] }]);
    expect(page.received).toBe(3);
  });

  it('whose envelope names a member twice is read by the last', () => {
    const text = signalPage([signal()])
      .replace('{', '{"rows":[5],')
      .replace('"hasMore"', '"hasMore":true,"hasMore"');
    const page = checkSignals(text);
    expect(page).toMatchObject({ keys: ['s-1'], received: 1, pagination: { hasMore: false } });
    const news = '{"data":{"rows":[5]},"data":{"rows":5,"rows":[{"id":7}]}}';
    expect(checkPage(job('news'), { text: () => news }, JSON.parse(news)).rows).toMatchObject([
      { key: '7', row: { values: { _body: '{"id":7}' } } },
    ]);
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
});

describe('a snapshot', () => {
  it('is the response as it was sent, whatever it looks like', () => {
    for (const text of ['{ "used" : 1.0 }', '[1, 2]', 'null', '"x"']) {
      const { accepted, keys } = sorted(checkSnapshot(text, JSON.parse(text), 'k', 't'));
      expect(accepted).toEqual([{ key: 'k', values: { _fetched_at: 't', _body: text } }]);
      expect(keys).toEqual(['k']);
    }
  });

  it('has its names in their plain spelling, and is refused where it names a member twice', () => {
    const check = (text: string) => sorted(checkSnapshot(text, JSON.parse(text), 'k', 't'));
    expect(check('{"\\u0061" : "\\u0061"}').accepted[0]?.values['_body']).toBe('{"a" : "\\u0061"}');
    expect(check('{"q":{"a":1,"a":2}}')).toMatchObject({
      accepted: [],
      refused: [{ problems: [{ path: 'q.a' }] }],
    });
  });

  it('is refused where no table can hold it', () => {
    const text = `{"a":${'['.repeat(1_200)}${']'.repeat(1_200)}}`;
    const { accepted, refused } = sorted(checkSnapshot(text, JSON.parse(text), 'k', 't'));
    expect(accepted).toEqual([]);
    expect(refused).toMatchObject([
      { key: null, body: text, problems: [{ expected: expect.stringContaining('64 levels') }] },
    ]);
  });
});

describe('a row that was refused, looked at again', () => {
  it('comes to what it would have come to on its page', () => {
    const fit = JSON.stringify(signal({ lane: 'hot' }));
    expect(sorted(checkAgain(job('ai-signals'), fit))).toMatchObject({
      accepted: [{ key: 's-1', values: { asset: signal()['asset'], extra: '{"lane":"hot"}' } }],
      drifts: [{ kind: 'extra-property' }],
    });
    const unfit = JSON.stringify(signal({ asset: 5 }));
    expect(sorted(checkAgain(job('ai-signals'), unfit)).refused).toMatchObject([{ key: 's-1', body: unfit }]);
  });

  it('has the key of its list, and does not say by itself which field that is', () => {
    const keysBy = (shape?: DiscoveredShape) =>
      sorted(checkAgain(job('news'), ' {"id":1,"slug":"a"}', shape)).keys;
    expect(keysBy({ ...unknownShape, hasLookedForKey: true, key: [['slug']] })).toEqual(['a']);
    expect(keysBy()).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/)]);
    expect(sorted(checkAgain(job('news'), '5')).refused).toHaveLength(1);
  });
});
