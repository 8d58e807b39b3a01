import { describe, expect, it } from 'vitest';
import { followingPages, provesAsMuch } from '../../src/mirror/pages.ts';
import {
  type AnchoredCheckpoint,
  anchored,
  beginning,
  type Checkpoint,
  requestOffset,
} from '../../src/walk/checkpoint.ts';

const ofSnapshot: Checkpoint = { ...beginning, offset: 200, pages: 2, pagesOfPass: 2, total: 950 };
const byAnchors: AnchoredCheckpoint = {
  ...anchored({ ...beginning, pages: 2 }),
  offset: 199,
  pages: 2,
  pagesOfPass: 2,
  total: 950,
  anchor: { key: 'last read', back: 1 },
};
const offsetsOf = (at: Checkpoint, pageRows = 100, most = 15) => followingPages(at, pageRows, most).offsets;

describe('the pages behind the next one', () => {
  it('of a snapshot follow one another', () => {
    expect(requestOffset(ofSnapshot)).toBe(200);
    expect(followingPages(ofSnapshot, 100, 15)).toEqual({
      calls: 7,
      offsets: [300, 400, 500, 600, 700, 800, 900],
    });
  });

  it('by anchors begin with the last row of the one before', () => {
    expect(requestOffset(byAnchors)).toBe(198);
    expect(offsetsOf(byAnchors)).toEqual([297, 396, 495, 594, 693, 792, 891]);
  });

  it('overlap by a row less from page to page, after a step back', () => {
    const at: AnchoredCheckpoint = { ...byAnchors, overlap: 4, anchor: { key: 'last read', back: 4 } };
    // 195 to 294, then by three rows, by two, by one.
    expect(offsetsOf(at).slice(0, 4)).toEqual([292, 390, 489, 588]);
  });

  it('end with the total, and are as many as are wanted', () => {
    expect(offsetsOf({ ...ofSnapshot, total: 400 })).toEqual([300]);
    expect(offsetsOf({ ...ofSnapshot, total: 300 })).toEqual([]);
    expect(followingPages(ofSnapshot, 100, 3)).toEqual({ calls: 7, offsets: [300, 400, 500] });
  });

  it.each<[string, Checkpoint]>([
    ['the first page is read', { ...beginning, total: 950 }],
    ['the API tells no total', { ...ofSnapshot, total: null }],
    ['a snapshot was replaced before', { ...ofSnapshot, restarts: 1 }],
    ['a row is looked for further up', { ...byAnchors, phase: 'back', anchor: null }],
    ['rows are read again', { ...byAnchors, rereadUntil: 300 }],
    ['the beginning is read again', { ...byAnchors, phase: 'head', anchor: null, offset: 0 }],
    ['no row could be an anchor', { ...byAnchors, anchor: null }],
  ])('are not foreseen where %s', (_, at) => {
    expect(followingPages(at, 100, 15)).toEqual({ calls: 0, offsets: [] });
  });

  it('are not foreseen of pages too short to show more than the overlap', () => {
    expect(offsetsOf({ ...byAnchors, overlap: 4 }, 3)).toEqual([]);
    expect(offsetsOf(ofSnapshot, 0)).toEqual([]);
  });
});

describe('a prefetched page', () => {
  const page = (first: string | null, total: number) => ({
    keys: [first, 'another'],
    pagination: { offset: 198, limit: 100, total, returned: 2, hasMore: true },
  });

  it('will do where its first row is the anchor and there are as many rows as before', () => {
    expect(provesAsMuch(byAnchors, page('last read', 950))).toBe(true);
  });

  it.each([
    ['the anchor moved', page('new', 950)],
    ['its first row shows no key', page(null, 950)],
    ['there are more rows', page('last read', 951)],
    ['there are fewer', page('last read', 949)],
  ])('will not do where %s', (_, other) => {
    expect(provesAsMuch(byAnchors, other)).toBe(false);
  });

  it('of a snapshot says itself what it is a page of', () => {
    expect(provesAsMuch(ofSnapshot, page('new', 951))).toBe(true);
  });
});
