import { describe, expect, it } from 'vitest';
import { initialWindow, isSure, periodOf, reset } from '../../src/governor/window.ts';

const MINUTE = 60_000;

describe('the period', () => {
  it('stays known, once it is, where a reset may have been at any moment since the last one', () => {
    let window = initialWindow(0);
    for (const minute of [1, 2, 3])
      window = reset(window, { afterAt: minute * MINUTE - 500, beforeAt: minute * MINUTE + 500 });
    expect(isSure(window)).toBe(true);
    window = reset(window, { afterAt: 3 * MINUTE + 500, beforeAt: 4 * MINUTE + 1_500 });
    expect(isSure(window)).toBe(true);
    expect(periodOf(window)).toMatchObject({ least: MINUTE, most: MINUTE });
    expect(window.last).toMatchObject({ afterAt: 4 * MINUTE - 500, beforeAt: 4 * MINUTE + 500 });
  });

  it('is bounded by two resets, however many more passed unseen', () => {
    const first = reset(initialWindow(0), { afterAt: MINUTE, beforeAt: 10 * MINUTE });
    const second = reset(first, { afterAt: 11 * MINUTE, beforeAt: 20 * MINUTE });
    expect(second.most).toBe(19 * MINUTE);
    expect(isSure(second)).toBe(false);
  });
});
