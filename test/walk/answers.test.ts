import { describe, expect, it } from 'vitest';
import { type Fault, type FaultScript, faults, when } from '../../model-api/index.ts';
import { mostCalls } from '../../src/walk/anchored.ts';
import type { Anomaly } from '../../src/walk/checkpoint.ts';
import { setup } from '../helpers/setup.ts';
import { mirroredRows, missingKeys, upstreamRows } from '../helpers/truth.ts';

const ROWS = 360;
const QUIET = { news: 5, 'ai-signals': 4 };

type Case = {
  script: () => FaultScript;
  job: keyof typeof QUIET;
  /** What proves the dataset where no anomaly is named. */
  verdict: 'verified' | 'snapshot' | 'union';
  calls: number;
  /** Rows of the longest page, where it is shorter than the API allows. */
  pageRows?: number;
  anomalies?: Partial<Record<Anomaly, number>>;
  missing?: number;
};

const page = (nth: number, ...fault: Fault[]) => when({ nth }, ...fault);
const allPages = (...fault: Fault[]) => when({}, ...fault);

const { shortPage, limitIgnored, pagination, returnedOff, changingTotal, duplicateRow, emptyPageWithMore } =
  faults;

/** The API takes an offset for a multiple of so many rows, and says so. */
const offsetRounded = (rows: number): Fault =>
  faults.editPage((_, { bodyAt, request: { offset, limit } }) =>
    bodyAt({ offset: offset - (offset % rows), limit }),
  );

const cases: Record<string, Case> = {
  'one page is short': {
    script: () => page(2, shortPage(30)),
    job: 'news',
    verdict: 'verified',
    calls: QUIET.news + 1,
  },
  'one page of a snapshot is short': {
    script: () => page(2, shortPage(30)),
    job: 'ai-signals',
    verdict: 'snapshot',
    calls: QUIET['ai-signals'] + 1,
  },
  'every page is short': {
    script: () => allPages(shortPage(10)),
    job: 'news',
    verdict: 'verified',
    calls: 41,
    pageRows: 10,
  },
  'the limit is taken for 50': {
    script: () => allPages(limitIgnored(50)),
    job: 'news',
    verdict: 'verified',
    calls: 9,
    pageRows: 50,
  },
  'the limit of a snapshot is taken for 50': {
    script: () => allPages(limitIgnored(50)),
    job: 'ai-signals',
    verdict: 'snapshot',
    calls: 8,
    pageRows: 50,
  },
  'the limit is taken for 2': {
    script: () => allPages(limitIgnored(2)),
    job: 'news',
    verdict: 'verified',
    calls: ROWS,
    pageRows: 2,
  },
  'the limit is taken for 1': {
    script: () => allPages(limitIgnored(1)),
    job: 'news',
    verdict: 'union',
    calls: ROWS + 1,
    pageRows: 2,
    anomalies: { unanchored: ROWS - 1 },
  },
  'the limit is ignored': {
    script: () => allPages(limitIgnored(1_000)),
    job: 'news',
    verdict: 'verified',
    calls: 1,
  },
  'the limit of a snapshot is ignored': {
    script: () => allPages(limitIgnored(1_000)),
    job: 'ai-signals',
    verdict: 'snapshot',
    calls: 1,
  },
  'one page shows nothing but the row that joins it': {
    script: () => page(3, shortPage(1)),
    job: 'news',
    verdict: 'union',
    calls: QUIET.news + 1,
    anomalies: { unanchored: 1 },
  },
  'one page is empty and promises more': {
    script: () => page(3, emptyPageWithMore()),
    job: 'news',
    verdict: 'verified',
    calls: QUIET.news + 1,
  },
  'one page of a snapshot is empty and promises more': {
    script: () => page(3, emptyPageWithMore()),
    job: 'ai-signals',
    verdict: 'snapshot',
    calls: QUIET['ai-signals'] + 1,
  },
  'one page returns more rows than it says': {
    script: () => page(2, returnedOff(-1)),
    job: 'news',
    verdict: 'union',
    calls: QUIET.news,
    anomalies: { returned: 1, repeat: 1 },
  },
  'one page returns fewer rows than it says': {
    script: () => page(2, returnedOff(7)),
    job: 'news',
    verdict: 'union',
    calls: QUIET.news,
    anomalies: { returned: 1 },
  },
  'one page of a snapshot returns more rows than it says': {
    script: () => page(2, returnedOff(-1)),
    job: 'ai-signals',
    verdict: 'union',
    calls: QUIET['ai-signals'],
    anomalies: { returned: 1, repeat: 1 },
  },
  'one page of a snapshot returns fewer rows than it says': {
    script: () => page(2, returnedOff(7)),
    job: 'ai-signals',
    verdict: 'union',
    calls: QUIET['ai-signals'],
    anomalies: { returned: 1 },
  },
  'the total rises with every page': {
    script: () => allPages(changingTotal()),
    job: 'news',
    verdict: 'union',
    calls: QUIET.news + 3,
    anomalies: { total: 2 },
  },
  'the total of a snapshot rises with every page': {
    script: () => allPages(changingTotal()),
    job: 'ai-signals',
    verdict: 'union',
    calls: QUIET['ai-signals'] + 1,
    anomalies: { total: 1 },
  },
  'the total of a snapshot is too small': {
    script: () => allPages(pagination({ total: ROWS - 1 })),
    job: 'ai-signals',
    verdict: 'union',
    calls: QUIET['ai-signals'],
    anomalies: { total: 1 },
  },
  'the total falls to nothing for one page': {
    script: () => page(3, shortPage(0), pagination({ total: 0, hasMore: false })),
    job: 'news',
    verdict: 'verified',
    calls: 3 + QUIET.news,
  },
  'a page shows a row twice': {
    script: () => page(2, duplicateRow()),
    job: 'news',
    verdict: 'union',
    calls: QUIET.news + 1,
    anomalies: { repeat: 2 },
  },
  'a page of a snapshot shows a row twice': {
    script: () => page(2, duplicateRow()),
    job: 'ai-signals',
    verdict: 'union',
    calls: QUIET['ai-signals'],
    anomalies: { repeat: 1, total: 1 },
    missing: 1,
  },
  'an offset is taken for another': {
    script: () => allPages(offsetRounded(50)),
    job: 'news',
    verdict: 'union',
    calls: 22,
    anomalies: { offset: 20, unfound: 1 },
  },
  'an offset of a snapshot is taken for another': {
    script: () => allPages(offsetRounded(70)),
    job: 'ai-signals',
    verdict: 'union',
    calls: QUIET['ai-signals'],
    anomalies: { offset: 3, repeat: 2, total: 1 },
    missing: 40,
  },
  'an offset is given wrongly': {
    script: () => page(3, pagination({ offset: 7 })),
    job: 'news',
    verdict: 'union',
    calls: QUIET.news,
    anomalies: { offset: 1 },
  },
  'hasMore is false too early for one page': {
    script: () => page(2, pagination({ hasMore: false })),
    job: 'news',
    verdict: 'verified',
    calls: QUIET.news,
  },
  'hasMore of a snapshot is false too early for one page': {
    script: () => page(2, pagination({ hasMore: false })),
    job: 'ai-signals',
    verdict: 'snapshot',
    calls: QUIET['ai-signals'],
  },
  'hasMore is false from the second page on': {
    script: () => when({ from: 2 }, pagination({ hasMore: false })),
    job: 'news',
    verdict: 'union',
    calls: 4,
    anomalies: { total: 2 },
    missing: 62,
  },
  'hasMore of a snapshot is false from the second page on': {
    script: () => when({ from: 2 }, pagination({ hasMore: false })),
    job: 'ai-signals',
    verdict: 'union',
    calls: 3,
    anomalies: { total: 1 },
    missing: 60,
  },
};

describe('a walk ends as it should where', () => {
  it.each(Object.entries(cases))(
    '%s',
    async (_, { script, job, verdict, calls, pageRows, anomalies = {}, missing = 0 }) => {
      const bench = await setup({ rows: ROWS, faults: [script()] });

      const walk = await bench.mirror(job);
      expect(walk).toMatchObject({ status: 'complete', verdict, apiCalls: calls });
      expect(JSON.parse(walk.anomalies)).toEqual(anomalies);
      expect(missingKeys(bench, job)).toHaveLength(missing);
      expect(calls).toBeLessThanOrEqual(mostCalls(ROWS, pageRows));

      bench.model.faults = [];
      expect((await bench.mirror(job)).verdict).toBe(job === 'news' ? 'verified' : 'snapshot');
      expect(mirroredRows(bench, job)).toEqual(upstreamRows(bench, job));
    },
  );
});
