/** Rows that are as they are stored are told by their text: nothing in the mirror may show that they were not looked at. */

import { mkdtempSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Api } from '../../src/api.ts';
import { isoTime } from '../../src/clock.ts';
import type { Job } from '../../src/job.ts';
import { loadJobs } from '../../src/load-jobs.ts';
import { mirror } from '../../src/mirror.ts';
import { openReadOnly } from '../../src/store/connection.ts';
import { openStore, type Store, type WalkSession } from '../../src/store.ts';
import type { WalkKind } from '../../src/walk.ts';
import { memory, removeFolder } from '../helpers/folder.ts';
import { type VirtualClock, virtualClock } from '../helpers/virtual-clock.ts';

const PAGE_ROWS = 4;

/** A row: its members as JSON, and what else is between them. */
type Upstream = { rows: string[]; envelope: Envelope };
type Envelope = { before: string; behind: string; between: string };

type Step =
  | { do: 'insert'; at: number; row: string }
  | { do: 'change'; at: number; row: string }
  | { do: 'remove' | 'repeat'; at: number }
  | { do: 'turn round' }
  | { do: 'pass'; kind: WalkKind };

const jobs = await loadJobs();
const news = jobs.find(({ name }) => name === 'news') as Job;

/** Members of rows: most are what news are like, some are what no table can keep, or what is easily taken for something else. */
const member = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom('"title":"a"', '"title":"b"', '"score":1', '"score":2.5') },
  { weight: 4, arbitrary: fc.constantFrom('"title":null', '"title":"\\"quoted\\": x"', '"title":"ü\\n€"') },
  {
    weight: 2,
    arbitrary: fc.constantFrom('"source":{"name":"x"}', '"source":{"name":"x","id":7}', '"source":{}'),
  },
  { weight: 1, arbitrary: fc.constantFrom('"big":12345678901234567890', '"big":1e400', '"b\\u0069g":1') },
  { weight: 1, arbitrary: fc.constantFrom('"title":"c","title":"d"', '"title":"\\ud800"', '"rows":[1]') },
  {
    weight: 1,
    arbitrary: fc
      .integer({ min: 0, max: 4 })
      .map((at) => `"map":{${Array.from({ length: 30 }, (_, i) => `"m${at * 30 + i}":1`).join()}}`),
  },
);
const id = fc.oneof(
  { weight: 20, arbitrary: fc.integer({ min: 1, max: 60 }).map((number) => `"id":"n${number}",`) },
  { weight: 1, arbitrary: fc.constantFrom('', '"id":5,', '"id":5.0,', '"id":"",', '"\\u0069d":"n7",') },
);
const row = fc
  .tuple(id, fc.array(member, { maxLength: 3 }), fc.constantFrom('', '', '', ' ', '\n'))
  .map(
    ([first, members, space]) => `{${space}${first}"kind":"k"${members.map((one) => `,${one}`).join('')}}`,
  );

const at = fc.integer({ min: 0, max: 999 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 5, arbitrary: fc.constant<Step>({ do: 'pass', kind: 'walk' }) },
  { weight: 2, arbitrary: fc.constant<Step>({ do: 'pass', kind: 'glance' }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('insert' as const), at, row }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('change' as const), at, row }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('remove' as const, 'repeat' as const), at }) },
  { weight: 1, arbitrary: fc.constant<Step>({ do: 'turn round' }) },
);
/** Rows are told by their bytes only where nothing but a comma is between them, and no backslash around them. */
const envelope: fc.Arbitrary<Envelope> = fc.constantFrom(
  { before: '{"rows":[', behind: ']', between: ',' },
  { before: '{"rows":5, "dataset" : "rows", "rows" : [ ', behind: ' ]', between: ',' },
  { before: '{"rows":5, "dataset" : "rows", "rows" : [ ', behind: ' ]', between: ' ,\n' },
  { before: '{"generatedAt":"2026-01-01T00:00:00Z","rows":[', behind: ']', between: ',' },
  { before: '{"rows":[', behind: '],"other":["\\"rows\\":["]', between: ',' },
  { before: '{"meta":{"rows":3},"rows":[', behind: ']', between: ',' },
);

/** Most rows are plain, so that most pages are as they were. */
const plain = fc
  .integer({ min: 1, max: 60 })
  .map((number) => `{"id":"n${number}","kind":"k","title":"t${number}"}`);
const life = fc.record({
  envelope,
  rows: fc.uniqueArray(fc.oneof({ weight: 25, arbitrary: plain }, { weight: 1, arbitrary: row }), {
    selector: (text) => /"n\d+"/.exec(text)?.[0] ?? text,
    minLength: 3,
    maxLength: 40,
    size: 'max',
  }),
  steps: fc.array(step, { minLength: 2, maxLength: 14 }),
  // Whether pages wait for one another, or each is committed at once: only what is committed is compared as it is stored.
  ample: fc.constantFrom(true, false, false, false),
});

type Side = { store: Store; clock: VirtualClock; pages: { all: number; unchanged: number } };

it('the mirror is the same as if every row had been looked at', async () => {
  let unchanged = 0;
  await fc.assert(
    fc.asyncProperty(life, async ({ rows, steps, envelope, ample }) => {
      const [byText, inFull] = [openSide(true), openSide(false)];
      const upstream: Upstream = { rows: [...rows], envelope };
      const passes: Step[] = [
        { do: 'pass', kind: 'walk' },
        { do: 'pass', kind: 'walk' },
        ...steps,
        { do: 'pass', kind: 'walk' },
        { do: 'pass', kind: 'walk' },
      ];
      try {
        for (const step of passes) {
          if (step.do !== 'pass') edit(upstream.rows, step);
          else {
            const outcomes = [];
            for (const side of [byText, inFull])
              outcomes.push(await pass(side, upstream, step.kind, ample).catch((thrown) => String(thrown)));
            expect(outcomes[0]).toEqual(outcomes[1]);
          }
        }
        expect(dump(byText.store)).toEqual(dump(inFull.store));
        expect(inFull.pages.unchanged).toBe(0);
        unchanged += byText.pages.unchanged;
      } finally {
        for (const { store } of [byText, inFull]) close(store);
      }
    }),
    { numRuns: 15 },
  );
  expect(unchanged).toBeGreaterThan(25);
});

function openSide(byText: boolean): Side {
  const clock = virtualClock();
  const store = openStore(mkdtempSync(join(memory, 'unchanged-')), jobs, clock.now);
  const pages = { all: 0, unchanged: 0 };
  const counting = (session: WalkSession): WalkSession => ({
    ...session,
    findStoredRun: () => (byText ? session.findStoredRun() : undefined),
    savePage(saved) {
      pages.all += 1;
      if (saved.page.fields.areStored) pages.unchanged += 1;
      session.savePage(saved);
    },
  });
  const openWalk: Store['openWalk'] = (...given) => counting(store.openWalk(...given));
  return { store: { ...store, openWalk }, clock, pages };
}

function close(store: Store): void {
  store.close();
  removeFolder(join(store.file, '..'));
}

async function pass({ store, clock }: Side, upstream: Upstream, kind: WalkKind, ample: boolean) {
  clock.advance(60_000);
  const api = answering(upstream, clock, ample);
  const { id: _, ...walk } = await mirror(news, { api, store, clock }, new AbortController().signal, kind);
  return walk;
}

function answering(
  { rows, envelope: { before, behind, between } }: Upstream,
  clock: VirtualClock,
  ample: boolean,
) {
  const get: Api['get'] = async ({ job, walkId, query, read }, _signal, options) => {
    if (!ample) options?.onWait?.();
    const offset = query['offset'] ?? 0;
    const page = rows.slice(offset, offset + PAGE_ROWS);
    const pagination = {
      offset,
      limit: PAGE_ROWS,
      total: rows.length,
      returned: page.length,
      hasMore: offset + page.length < rows.length,
    };
    const text = `${before}${page.join(between)}${behind},"pagination":${JSON.stringify(pagination)}}`;
    const call = {
      ...{
        at: isoTime(clock.now()),
        job,
        walkId,
        url: `/?offset=${offset}`,
        status: 200,
        ms: 1,
        bytes: text.length,
      },
      ...{ requestId: null, rateLimit: null, rateRemaining: null, errorCode: null },
    };
    const body = { bytes: Buffer.from(text), text: () => text };
    return { body, json: read?.(body), call };
  };
  return { get, prefetch: () => undefined } as unknown as Api;
}

function edit(rows: string[], step: Exclude<Step, { do: 'pass' }>): void {
  if (step.do === 'turn round') {
    rows.reverse();
    return;
  }
  const place = Math.floor((step.at * rows.length) / 1_000);
  if (step.do === 'insert') rows.splice(place, 0, step.row);
  if (step.do === 'change') rows[place] = step.row;
  if (step.do === 'remove') rows.splice(place, 1);
  if (step.do === 'repeat' && rows[place] !== undefined) rows.push(rows[place]);
}

/** Every row of every table but the mirror's own name. */
function dump({ file }: Store): Record<string, unknown[]> {
  const connection = openReadOnly(file);
  const tables = connection
    .prepare<[], string>(
      "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_\\_%' ESCAPE '\\' AND name <> 'identity'",
    )
    .pluck()
    .all();
  const all = Object.fromEntries(
    tables.map((name) => [
      name,
      connection.prepare(`SELECT rowid AS number_, * FROM "${name}" ORDER BY 1`).all(),
    ]),
  );
  connection.close();
  return all;
}
