import { describe, expect, it } from 'vitest';
import { initialWindow, isSure, periodOf, reset } from '../../src/governor/window.ts';

const MINUTE = 60_000;

describe('a period that is known', () => {
  it('stays known where a reset may have been at any moment since the last one', () => {
    let window = initialWindow(0);
    for (const minute of [1, 2, 3])
      window = reset(window, { afterAt: minute * MINUTE - 500, beforeAt: minute * MINUTE + 500 });
    expect(isSure(window)).toBe(true);
    window = reset(window, { afterAt: 3 * MINUTE + 500, beforeAt: 4 * MINUTE + 1_500 });
    expect(isSure(window)).toBe(true);
    expect(periodOf(window)).toMatchObject({ least: MINUTE, most: MINUTE });
    expect(window.last).toMatchObject({ afterAt: 4 * MINUTE - 500, beforeAt: 4 * MINUTE + 500 });
  });
});
