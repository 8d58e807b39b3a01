import { describe, expect, it } from 'vitest';
import { mostCalls } from '../../src/walk/anchored.ts';
import { beginning } from '../../src/walk/checkpoint.ts';
import { isEndless } from '../../src/walk.ts';
import { walkOnPaper } from '../helpers/paper.ts';

const named = (count: number, prefix = 'row') => Array.from({ length: count }, (_, at) => `${prefix} ${at}`);

describe('the most calls of a walk', () => {
  it('are three passes with an anchor, eight steps back in each, and three looks at the head', () => {
    expect([0, 100, 1_000, 10_000].map((rows) => mostCalls(rows))).toEqual([27, 33, 60, 333]);
    expect(mostCalls(1_000, 50)).toBe(3 * (21 + 8) + 3);
  });

  it.each([1_000, 10_000])(
    'hold for %i rows of which some go before every call, and all the others come',
    async (count) => {
      const rows = named(count);
      const { calls, checkpoint, end, received } = await walkOnPaper((call) => {
        if (call > 1) rows.splice(0, 20);
        return rows;
      });
      expect(calls).toBeLessThanOrEqual(mostCalls(count));
      expect(checkpoint).toMatchObject({ mode: 'anchored', stepsBack: expect.toSatisfy((back) => back > 8) });
      expect(end.stuck).toBeUndefined();
      const lost = rows.filter((row) => !received.has(row)).length;
      expect(lost > 0).toBe(end.verdict === 'union');
    },
  );

  it.each([
    ['once: a step back, and pages overlap by one row again', (call: number) => call === 3, 30_000 / 99 + 4],
    ['before every call: pages overlap by as much as it takes', () => true, 30_000 / 90],
  ])('are far from reached where rows go %s', async (_, goes, most) => {
    const rows = named(30_000);
    const walked = await walkOnPaper((call) => {
      if (goes(call)) rows.splice(0, 2);
      return rows;
    });
    expect(walked.end.verdict).toBe('verified');
    expect(walked.calls).toBeLessThanOrEqual(Math.ceil(most));
  });

  it.each([2, 3, 10])(
    'leave no row out where pages shrink to %i rows while they overlap by more',
    async (few) => {
      const rows = named(500);
      const walked = await walkOnPaper(
        (call) => {
          if (call > 1 && call < 9) rows.splice(0, 20);
          return rows;
        },
        { pageRows: (call) => (call < 10 ? 100 : few) },
      );
      expect(walked.end).toMatchObject({ verdict: 'verified', stuck: undefined });
      expect(rows.filter((row) => !walked.met.has(row))).toEqual([]);
    },
  );

  it('hold where all rows are others at every call', async () => {
    const { calls, end } = await walkOnPaper((call) => named(2_000, `row of call ${call}`));
    expect(end.verdict).toBe('union');
    expect(calls).toBeLessThanOrEqual(mostCalls(2_000));
  });

  it('hold where the order is another at every call', async () => {
    const rows = named(2_000);
    const turned = (call: number) => [
      ...rows.slice((call * 777) % 2_000),
      ...rows.slice(0, (call * 777) % 2_000),
    ];
    const { calls } = await walkOnPaper(turned);
    expect(calls).toBeLessThanOrEqual(mostCalls(2_000));
  });

  it('are three times as many as those, and a thousand at least, where the list grows faster than it can be read', async () => {
    const growing = async (count: number) => {
      const rows = named(count);
      return await walkOnPaper(() => {
        rows.push(...named(100, `row ${rows.length} and`));
        return rows;
      });
    };
    const { calls, end } = await growing(200);
    expect(end).toMatchObject({ verdict: 'union', stuck: 'bound' });
    expect(calls).toBe(1_000);
    expect((await growing(10_900)).calls).toBe(3 * mostCalls(11_000));
  });

  it('leave room for a list of more than ten million rows, by its total', () => {
    const at = { ...beginning, pages: 110_000, pagesOfPass: 110_000, offset: 11_000_000 };
    expect(isEndless({ ...at, totalOfWalk: 12_000_000 })).toBe(false);
    expect(isEndless({ ...at, pages: 3 * mostCalls(12_000_000), totalOfWalk: 12_000_000 })).toBe(true);
    expect(isEndless({ ...at, totalOfWalk: null })).toBe(true);
  });

  it('are more where pages are short', async () => {
    const rows = named(40_000);
    const walked = await walkOnPaper(() => rows, { pageRows: (call) => (call === 1 ? 100 : 5) });
    expect(walked.end).toMatchObject({ verdict: 'verified', stuck: undefined });
  });

  it('end even where nobody gives a total', async () => {
    const rows = named(200);
    const grow = () => {
      rows.push(...named(100, `row ${rows.length} and`));
      return rows;
    };
    const from = { ...beginning, pages: 99_990 };
    const { calls, end } = await walkOnPaper(grow, { from, total: () => undefined });
    expect(end).toMatchObject({ verdict: 'union', stuck: 'bound' });
    expect(calls).toBe(10);
  });

  it('leave room to read many pages again, after far steps back', async () => {
    const rows = named(8_000);
    const { end, checkpoint, received } = await walkOnPaper((call) => {
      if (call === 60) rows.splice(100, 800);
      return rows;
    });
    expect(end).toMatchObject({ verdict: 'verified', stuck: undefined });
    expect(checkpoint).toMatchObject({ mode: 'anchored', stepsBack: expect.toSatisfy((back) => back > 3) });
    expect(rows.filter((row) => !received.has(row))).toEqual([]);
  });
});
