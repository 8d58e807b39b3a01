import { describe, expect, it } from 'vitest';
import { type Fault, type FaultScript, faults, when } from '../../model-api/index.ts';
import { mostCalls } from '../../src/walk/anchored.ts';
import type { Anomaly } from '../../src/walk/checkpoint.ts';
import { remove } from '../helpers/edits.ts';
import { openList } from '../helpers/list.ts';
import { setup } from '../helpers/setup.ts';
import { mirroredRows, upstreamRows } from '../helpers/truth.ts';

const ROWS = 360;
const [NEWS, SIGNALS] = [5, 4];

const page = (nth: number, ...fault: Fault[]) => when({ nth }, ...fault);
const allPages = (...fault: Fault[]) => when({}, ...fault);

const { shortPage, limitIgnored, pagination, returnedOff, changingTotal, duplicateRow, emptyPageWithMore } =
  faults;
const end = { hasMore: false };

/** The API takes an offset for a multiple of so many rows, and says so. */
const offsetRounded = (rows: number): Fault =>
  faults.editPage((_, { bodyAt, request: { offset, limit } }) =>
    bodyAt({ offset: offset - (offset % rows), limit }),
  );

/**
 * What the API does, how many calls the walk takes, what keeps it from being a proof, rows of the longest page where it is shorter
 * than the API allows, and rows that did not come.
 */
type Case = [
  name: string,
  script: FaultScript,
  calls: number,
  more?: Partial<Record<Anomaly, number>> & { pageRows?: number; missing?: number },
];

const ofNews: Case[] = [
  ['one page is short', page(2, shortPage(30)), NEWS + 1],
  ['every page is short', allPages(shortPage(10)), 41, { pageRows: 10 }],
  ['the limit is taken for 50', allPages(limitIgnored(50)), 9, { pageRows: 50 }],
  ['the limit is taken for 2', allPages(limitIgnored(2)), ROWS, { pageRows: 2 }],
  ['the limit is taken for 1', allPages(limitIgnored(1)), ROWS + 1, { unanchored: ROWS - 1, pageRows: 2 }],
  ['the limit is ignored', allPages(limitIgnored(1_000)), 1],
  ['one page shows nothing but the row that joins it', page(3, shortPage(1)), NEWS + 1, { unanchored: 1 }],
  ['one page is empty and promises more', page(3, emptyPageWithMore()), NEWS + 1],
  ['one page returns more rows than it says', page(2, returnedOff(-1)), NEWS, { returned: 1, repeat: 1 }],
  ['one page returns fewer rows than it says', page(2, returnedOff(7)), NEWS, { returned: 1 }],
  ['the total rises with every page', allPages(changingTotal()), NEWS + 3, { total: 2 }],
  ['the total is far too small', allPages(pagination({ total: 150 })), NEWS],
  [
    'the total falls to nothing for one page',
    page(3, shortPage(0), pagination({ total: 0, ...end })),
    3 + NEWS,
  ],
  ['a page shows a row twice', page(2, duplicateRow()), NEWS + 1, { repeat: 2 }],
  ['an offset is taken for another', allPages(offsetRounded(50)), 22, { offset: 20, unfound: 1 }],
  ['an offset is given wrongly', page(3, pagination({ offset: 7 })), NEWS, { offset: 1 }],
  ['hasMore is false too early for one page', page(2, pagination(end)), NEWS],
  [
    'hasMore is false from the second page on',
    when({ from: 2 }, pagination(end)),
    4,
    { total: 2, missing: 62 },
  ],
];

const ofSnapshot: Case[] = [
  ['one page is short', page(2, shortPage(30)), SIGNALS + 1],
  ['the limit is taken for 50', allPages(limitIgnored(50)), 8, { pageRows: 50 }],
  ['the limit is ignored', allPages(limitIgnored(1_000)), 1],
  ['one page is empty and promises more', page(3, emptyPageWithMore()), SIGNALS + 1],
  ['one page returns more rows than it says', page(2, returnedOff(-1)), SIGNALS, { returned: 1, repeat: 1 }],
  ['one page returns fewer rows than it says', page(2, returnedOff(7)), SIGNALS, { returned: 1 }],
  ['the total rises with every page', allPages(changingTotal()), SIGNALS + 1, { total: 1 }],
  ['the total is too small', allPages(pagination({ total: ROWS - 1 })), SIGNALS, { total: 1 }],
  ['the total is far too small', allPages(pagination({ total: 150 })), SIGNALS, { total: 1 }],
  ['a page shows a row twice', page(2, duplicateRow()), SIGNALS, { repeat: 1, total: 1, missing: 1 }],
  [
    'an offset is taken for another',
    allPages(offsetRounded(70)),
    SIGNALS,
    { offset: 3, repeat: 2, total: 1, missing: 40 },
  ],
  ['hasMore is false too early for one page', page(2, pagination(end)), SIGNALS],
  [
    'hasMore is false from the second page on',
    when({ from: 2 }, pagination(end)),
    3,
    { total: 1, missing: 60 },
  ],
];

describe.each([
  ['news', ofNews],
  ['ai-signals', ofSnapshot],
] as const)('a walk over %s ends as it should where', (job, cases) => {
  it.each(cases)('%s', async (_, script, calls, { pageRows, missing = 0, ...anomalies } = {}) => {
    const list = openList(job, { rows: ROWS, faults: [script] });
    const walked = await list.walk();
    const verdict = Object.keys(anomalies).length > 0 ? 'union' : job === 'news' ? 'verified' : 'snapshot';
    expect(walked).toMatchObject({ verdict, stuck: undefined, calls });
    expect(walked.anomalies).toEqual(anomalies);
    expect(walked.missing).toHaveLength(missing);
    expect(calls).toBeLessThanOrEqual(mostCalls(ROWS, pageRows));
    await list.converge();
  });
});

describe('a walk is given up, with all that came, where', () => {
  it.each<[string, FaultScript, job: 'news' | 'ai-signals', calls: number, received: number]>([
    [
      'every page from the third on is empty and promises more',
      when({ from: 3 }, emptyPageWithMore()),
      ...(['news', 4, 199] as const),
    ],
    ['every offset is taken for the first', allPages(faults.offsetIgnored()), 'news', 4, 100],
    [
      'every offset of a snapshot is taken for the first',
      allPages(faults.offsetIgnored()),
      ...(['ai-signals', 4, 100] as const),
    ],
    ['every page promises more', allPages(pagination({ hasMore: true })), 'news', 6, ROWS],
    [
      'every page of a snapshot promises more',
      allPages(pagination({ hasMore: true })),
      ...(['ai-signals', 6, ROWS] as const),
    ],
  ])('%s', async (_, fault, job, calls, received) => {
    const list = openList(job, { rows: ROWS, faults: [fault] });
    const walked = await list.walk();
    expect(walked).toMatchObject({ verdict: 'union', stuck: 'stuck', calls });
    expect(walked.received.size).toBe(received);
    await list.converge();
  });
});

it('a walk that reads rows again is given up where a page says that it brought none of them', async () => {
  const nothing = when({ from: 5 }, pagination({ returned: 0 }));
  const list = openList('news', { rows: ROWS, faults: [allPages(limitIgnored(10)), nothing] });
  expect(await list.walk({ 4: remove(0, 15) })).toMatchObject({ stuck: 'stuck', calls: 8 });
});

it('a walk that is given up has failed and keeps all that came, and the next run begins anew', async () => {
  const bench = await setup({ rows: ROWS, faults: [when({ from: 3 }, emptyPageWithMore())] });
  await expect(bench.mirror('news')).rejects.toMatchObject({
    kind: 'incomplete',
    message: expect.stringMatching(/lead nowhere.*the next run begins anew/),
  });
  expect(bench.sql('SELECT status, verdict FROM walks')).toEqual([{ status: 'failed', verdict: null }]);
  expect(mirroredRows(bench, 'news').size).toBe(199);
  bench.model.faults = [];
  expect(await bench.mirror('news')).toMatchObject({ id: 2, apiCalls: NEWS });
  expect(mirroredRows(bench, 'news')).toEqual(upstreamRows(bench, 'news'));
});
