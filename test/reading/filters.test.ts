import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { isoTime } from '../../src/base/clock.ts';
import { listed } from '../../src/job.ts';
import { type Filters, filtersOf, matchingRows, normalize } from '../../src/reading/filters.ts';
import { openPages } from '../../src/reading/pages.ts';
import { openReadOnly } from '../../src/store/connection.ts';
import { change, editBefore, publish } from '../helpers/edits.ts';
import { type Bench, openBench } from '../helpers/mirror-bench.ts';
import { setup } from '../helpers/setup.ts';
import { leaves, shortText } from './filters/support.ts';
import { momentOf, type Row, textsOf } from './pages/support.ts';

let bench: Bench;
beforeAll(async () => {
  bench = await openBench({ rows: 0 });
});
afterAll(() => bench.close());

const jobOf = (name: string) => listed(bench.job(name));

/** What a query such as `?q=a&kind=b` asks for. */
function asked(job: string, query: string): Filters | null {
  const parameters = new URLSearchParams(query);
  return filtersOf(jobOf(job), (name) => parameters.get(name));
}

it('the filters of a query are the same ones however they are written, and others where they ask for others', () => {
  for (const [one, other] of [
    ['?q=gold+rises&kind=FX', '?kind=fx&q=Rises++GOLD%20gold'],
    ['?symbol=%C3%89', '?symbol=e'],
    ['?kind=a&kind=b', '?kind=a'],
    ['?kind=a&q=&source=', '?kind=a'],
  ] as const) {
    expect(asked('news', one)).toEqual(asked('news', other));
    expect(asked('news', one)).not.toBe(null);
  }
  const keys = ['?kind=ab', '?kind=a&q=b', '?q=ab', '?q=a+b', '?kind=q', '?q=kind'].map(
    (query) => asked('news', query)?.key,
  );
  expect(new Set(keys).size).toBe(6);
  for (const query of ['?limit=3', '?q=+&kind=', '?kind=&kind=a', '?lane=ready'])
    expect([query, asked('news', query)]).toEqual([query, null]);
  expect(asked('smart-wallets', '?lane=ALL')).toBe(null);
});

describe('the rows that filters leave', () => {
  const value = fc.oneof(
    shortText,
    fc.constantFrom(1, 1.5, true, null),
    fc.array(fc.oneof(shortText, fc.integer({ max: 3 })), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('kind', 'a b', 'deep'), shortText, { maxKeys: 2 }),
  );
  const names = ['kind', 'kinds', 'Category', 'categories', 'title', 'source'];
  const row = fc.dictionary(fc.constantFrom(...names), value, { maxKeys: 5 });
  const query = fc.record(
    { q: shortText, kind: shortText, category: shortText, market: shortText },
    { requiredKeys: [] },
  );
  /** What upstream shows: at each time some rows, by their numbers, which come and go and change. */
  const times = fc.array(fc.dictionary(fc.stringMatching(/^[1-9]$/), row, { maxKeys: 9 }), {
    minLength: 1,
    maxLength: 4,
  });

  const queries = fc.array(query, { minLength: 1, maxLength: 5 });

  it('are those that match at that moment, in its order, now and ever after', async () => {
    await fc.assert(
      fc.asyncProperty(times, queries, fc.boolean(), async (upstream, queries, isDated) => {
        bench.clear();
        const connection = openReadOnly(bench.store.file);
        const jobs = bench.jobs.map(listed);
        const pages = openPages(connection, jobs);
        try {
          const seen = new Set<number>();
          const compare = (seq?: number) => {
            const moment = momentOf(pages, 'news', seq);
            const all = textsOf(pages, moment);
            for (const wanted of queries) {
              const filters = filtersOf(jobOf('news'), (name) => wanted[name as keyof typeof wanted]);
              const numbers = filters && matchingRows(connection, pages, moment, filters);
              const rows = numbers ? pages.readRows(moment, numbers) : all;
              expect([wanted, rows]).toEqual([wanted, all.filter((json) => matchesPlainly(json, wanted))]);
            }
            seen.add(moment.seq);
          };
          for (const rows of upstream) {
            const dataset = bench.upstream('news');
            dataset.rows = Object.entries(rows).map(([id, members]) => ({ id: `n${id}`, ...members }));
            dataset.generatedAt = isDated ? isoTime(bench.clock.now()) : undefined;
            if (seen.size > 0) await bench.glance('news');
            if (seen.size > 0) compare();
            // A row goes when two proofs in a row lack it.
            for (let proofs = 0; proofs < 2; proofs += 1) await bench.mirror('news');
            compare();
            bench.clock.advance(1_000);
          }
          for (const seq of seen) compare(seq);
        } finally {
          connection.close();
        }
      }),
      { numRuns: 6 },
    );
  });

  it('are those of the published snapshot that was proven, whatever a walk has brought since', async () => {
    const own = await setup({ rows: 150 });
    const dataset = own.upstream('news');
    publish('2026-01-01T00:00:00Z')(dataset);
    await own.mirror('news');
    const connection = openReadOnly(own.store.file);
    onTestFinished(() => void connection.close());
    const jobs = own.jobs.map(listed);
    const pages = openPages(connection, jobs);
    const found = () =>
      matchingRows(connection, pages, momentOf(pages, 'news'), asked('news', '?q=zebra') as Filters).length;
    change(5, { headline: 'Zebra' })(dataset);
    publish('2026-01-02T00:00:00Z')(dataset);
    let during: number | undefined;
    editBefore(own, 'news', {
      2: () => {
        during = found();
      },
    });
    await own.mirror('news');
    expect([during, found()]).toEqual([0, 1]);
  });
});

/** By the rules as docs/serve.md has them. */
function matchesPlainly(json: string, wanted: Partial<Record<string, string>>): boolean {
  const row = JSON.parse(json) as Row;
  return Object.entries(wanted).every(([name, given = '']) => {
    if (normalize(given) === '') return true;
    if (name === 'q')
      return normalize(given)
        .split(/\s+/)
        .every((word) => leaves(row).some((text) => normalize(text).includes(word)));
    const held = (pathsOf[name] ?? []).map((member) => row[member]).find(isComparable);
    return [held].flat().some((one) => isComparable(one) && normalize(String(one)) === normalize(given));
  });
}

const pathsOf: Record<string, string[]> = { kind: ['kind', 'kinds'], category: ['Category', 'categories'] };

const isComparable = (value: unknown) =>
  ['string', 'number', 'boolean'].includes(typeof value) || Array.isArray(value);
