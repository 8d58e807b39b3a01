import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkSignals, job, signal, signalPage } from './support.ts';

/** The one row of a page, with members of its JSON text replaced. */
function check(changes: Record<string, unknown>, edit = (text: string) => text) {
  return checkSignals(edit(signalPage([signal(changes)])));
}

const quality = signal()['quality'] as Record<string, unknown>;

describe('a row that breaks the contract', () => {
  it.each<[string, Record<string, unknown>, string, string]>([
    ['a required field is missing', { asset: undefined }, 'asset', 'nothing'],
    ['a field has another type', { confidence: '0.7' }, 'confidence', 'string'],
    ['a field that may not is null', { entryPrice: null }, 'entryPrice', 'null'],
    [
      'a nested field has another type',
      { quality: { ...quality, checks: 'none' } },
      'quality.checks',
      'string',
    ],
    ['its id is empty', { id: '' }, 'id', 'string'],
    ['its time is none', { timestamp: '2026-13-01T00:00:00Z' }, 'timestamp', 'string'],
  ])('is refused where %s, with the place and the kind of value', (_, changes, path, received) => {
    const { accepted, refused } = check(changes);
    expect(accepted).toEqual([]);
    expect(refused).toMatchObject([
      { body: JSON.stringify(signal(changes)), problems: [{ path, received }] },
    ]);
    expect(refused[0]?.problems).toHaveLength(1);
  });

  it('is refused under its key, where it shows one', () => {
    expect(check({ asset: 1 }).keys).toEqual(['s-1']);
    for (const id of [7, '', 'x\ud800']) expect(check({ id }).keys).toEqual([null]);
    expect(checkSignals(signalPage([null, 'x', [1]])).keys).toEqual([null, null, null]);
  });

  it('is refused for a number too large, in a field or in a property nobody listed', () => {
    expect(check({}, (text) => text.replace('"confidence":0.7', '"confidence":1e400')).refused).toMatchObject(
      [{ problems: [{ path: 'confidence', received: 'a number too large' }] }],
    );
    expect(check({ more: { a: 5 } }, (text) => text.replace('"a":5', '"a":1e400')).refused).toMatchObject([
      { problems: [{ path: 'more.a' }] },
    ]);
  });

  it('is refused for text that a table cannot give back: a lone surrogate, more than a megabyte', () => {
    expect(check({ rationale: 'x\ud800y' }).refused).toMatchObject([{ problems: [{ path: 'rationale' }] }]);
    expect(check({ rationale: 'x'.repeat(1024 ** 2 + 1) }).refused).toMatchObject([
      { problems: [{ path: 'rationale' }] },
    ]);
    expect(check({ rationale: 'x'.repeat(1_000_000) }).accepted).toHaveLength(1);
  });

  it('is refused for a property nested a hundred thousand levels deep', () => {
    const deep = '['.repeat(100_000) + ']'.repeat(100_000);
    const { refused } = check({ more: 'DEEP' }, (text) => text.replace('"DEEP"', deep));
    expect(refused[0]?.problems[0]?.expected).toContain('64 levels');
    expect(refused[0]?.body).toContain(deep);
  });
});

describe('a row that differs from the contract only softly', () => {
  it('lands, with the property that nobody listed beside it', () => {
    const { accepted, drifts } = check({ lane: 'hot', quality: { ...quality, note: { b: 1, a: [null] } } });
    expect(accepted[0]?.values['extra']).toBe('{"quality":{"note":{"b":1,"a":[null]}},"lane":"hot"}');
    expect(drifts).toEqual([
      { kind: 'extra-property', path: 'quality.note', detail: '', times: 1 },
      { kind: 'extra-property', path: 'lane', detail: '', times: 1 },
    ]);
  });

  it('keeps every digit of such a property', () => {
    const { accepted } = check({ more: 5, quality: { ...quality, grade: 'S', big: 6 } }, (text) =>
      text
        .replace('"more":5', '"more":[12345678901234567890, 1.0]')
        .replace('"big":6', '"big":-98765432109876543210'),
    );
    expect(accepted[0]?.values['extra']).toBe(
      '{"quality":{"big":-98765432109876543210},"more":[12345678901234567890, 1.0]}',
    );
  });

  it('keeps the text of such a property with plain names, each once', () => {
    const withMore = (more: string) =>
      check({ more: 5 }, (text) => text.replace('"more":5', `"more":${more}`));
    expect(withMore('{"\\u0061":12345678901234567890}').accepted[0]?.values['extra']).toBe(
      '{"more":{"a":12345678901234567890}}',
    );
    expect(withMore('{"a":1,"a":12345678901234567890}').refused).toMatchObject([
      { key: 's-1', problems: [{ path: 'more.a', expected: 'each name once in an object' }] },
    ]);
  });

  it('lands with a value that the enumeration does not list, and says which', () => {
    const { accepted, drifts } = check({ quality: { ...quality, grade: 'S' }, assetClass: 'x'.repeat(500) });
    expect(accepted[0]?.values).toMatchObject({
      quality_grade: 'S',
      asset_class: 'x'.repeat(500),
      extra: null,
    });
    expect(drifts).toEqual([
      { kind: 'new-value', path: 'quality.grade', detail: 'S', times: 1 },
      { kind: 'new-value', path: 'assetClass', detail: 'x'.repeat(100), times: 1 },
    ]);
  });
});

describe('a row that fits', () => {
  it('keeps its times as they were sent, leap seconds, offsets and small letters too', () => {
    for (const timestamp of ['2026-11-21t12:00:60.5z', '2026-11-21T12:00:00+02:00'])
      expect(check({ timestamp }).accepted[0]?.values['timestamp']).toBe(timestamp);
  });
});

it('a row fits, or does not, as the contract says, whatever stands in it', () => {
  const value = fc.oneof(
    fc.constantFrom('A', 'crypto', '2026-11-21T12:00:00Z', '', 'E', -1, 0, true, null),
    fc.jsonValue(),
  );
  const names = fc.constantFrom(...Object.keys(signal()), 'extra', '__proto__', 'constructor');
  const inner = fc.constantFrom('validator', 'quality', 'dualAi');
  const changed = fc.array(fc.tuple(names, fc.option(inner), value), { minLength: 1, maxLength: 3 });
  const { row: contract } = job('ai-signals').contract ?? {};
  fc.assert(
    fc.property(changed, (changes) => {
      // As JSON, in which every name is a name like any other.
      const members = changes.map(([name, around, value]) => {
        const member = `${JSON.stringify(name)}:${JSON.stringify(value) ?? 'null'}`;
        return around ? `"${around}":{${member}}` : member;
      });
      const row: unknown = JSON.parse(`${JSON.stringify(signal()).slice(0, -1)},${members.join()}}`);
      const { accepted, drifts } = checkSignals(signalPage([row]));
      const says = contract?.safeParse(row).success;
      expect(accepted.length === 1 && drifts.length === 0).toBe(says);
    }),
  );
});
