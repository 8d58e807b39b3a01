import { getTableColumns } from 'drizzle-orm';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { loadJobs } from '../../src/job/load.ts';
import { defineJob, type Job } from '../../src/job.ts';
import { Database } from '../../src/store/sqlite.ts';
import { checkAgain } from '../../src/validate.ts';

const jobs = await loadJobs();
const signals = jobs.find(({ name }) => name === 'ai-signals') as Job;

/** The row as it is shown again once its columns are in a table. */
function shownAgain(job: Job, row: unknown): unknown {
  const [accepted] = checkAgain(job, JSON.stringify(row)).rows.flatMap((checked) => checked.row ?? []);
  if (!accepted) throw new Error('the row does not fit');
  const { columns, rowJson } = job;
  const database = new Database(':memory:');
  const { rows, volatile } = job.tables;
  const typed = new Map(
    [rows, volatile].flatMap((table) => (table ? Object.entries(getTableColumns(table)) : [])),
  );
  const declared = columns.map((name) => `"${name}" ${typed.get(name)?.getSQLType()}`);
  database.exec(`CREATE TABLE shown (${declared.join(', ')})`);
  database
    .prepare(`INSERT INTO shown VALUES (${columns.map(() => '?').join(', ')})`)
    .run(columns.map((name) => accepted.values[name] ?? null));
  const json = database.prepare<[], string>(`SELECT ${rowJson} FROM shown AS row`).pluck().get();
  database.close();
  return JSON.parse(json ?? '');
}

const nullable = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary);
const word = fc.oneof(fc.string(), fc.constantFrom('é\u0001"\\', '💡', '{"a":1}', 'null', '12'));
const number = fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => value + 0);
const time = fc.constantFrom('2026-11-21T12:00:00Z', '2026-11-21t12:00:00.5+01:00');

const signal = fc.record({
  id: word.filter((id) => id !== ''),
  timestamp: time,
  asset: word,
  action: word,
  confidence: number,
  riskReward: nullable(number),
  entryPrice: number,
  tpPrice: nullable(number),
  slPrice: nullable(number),
  rationale: word,
  status: word,
  validator: fc.record({
    allowed: nullable(fc.boolean()),
    score: nullable(number),
    reasonCodes: fc.array(word),
    finalAction: nullable(word),
  }),
  quality: fc.record({
    publishable: fc.boolean(),
    grade: fc.constantFrom('A', 'B', 'C', 'REJECT'),
    ageSeconds: fc.nat(),
    freshness: fc.constantFrom('live', 'delayed', 'stale'),
    checks: fc.array(word),
  }),
  assetClass: fc.constantFrom('crypto', 'stock', 'fx'),
  screenerScore: nullable(number),
  regime: nullable(word),
  dualAi: nullable(
    fc.record({ analyst: word, arbiter: word, verdict: word, confidence: number }, { requiredKeys: [] }),
  ),
});

it('a specified row is shown as it was sent, value by value and in its order', () => {
  fc.assert(
    fc.property(signal, (row) => {
      const shown = shownAgain(signals, row);
      expect(shown).toEqual(JSON.parse(JSON.stringify(row)));
      expect(Object.keys(shown as object)).toEqual(Object.keys(row));
    }),
  );
});

it('nothing is shown that the contract does not list, wherever it stood', () => {
  fc.assert(
    fc.property(
      signal.filter(({ dualAi }) => dualAi !== null),
      (row) => {
        const { validator, quality, dualAi } = row;
        const more = { more: { of: 'it' } };
        const sent = {
          ...row,
          ...more,
          validator: { ...validator, ...more },
          quality: { ...quality, ...more },
          dualAi: { ...dualAi, ...more },
        };
        expect(shownAgain(signals, sent)).toEqual(JSON.parse(JSON.stringify(row)));
      },
    ),
    { numRuns: 20 },
  );
});

function jobOf(row: z.ZodObject, volatile: readonly string[] = []): Job {
  const contract = { page: z.strictObject({}), row, key: () => '', volatile };
  return defineJob('rates', { about: '', path: '/rates', scope: null, schedule: 'off', contract });
}

/** As SQL declares the table of the rows, up to the columns of the mirror's own. */
const columnsOf = ({ tables }: Job) =>
  Object.values(getTableColumns(tables.rows))
    .filter(({ name }) => !name.startsWith('_') && !['number', 'extra'].includes(name))
    .map((column) => `${column.name} ${column.getSQLType()}${column.notNull ? '' : ' or null'}`);

it('each property has a column of its type, named after its path', () => {
  const row = z.strictObject({
    id: z.string(),
    side: z.enum(['buy', 'sell']),
    openInterest: z.number().nullable(),
    fills: z.int(),
    isOpen: z.boolean().optional(),
    tags: z.array(z.string()),
    venue: z.strictObject({ name: z.string(), feeBps: z.number() }),
    hedge: z.strictObject({ market: z.string(), legs: z.array(z.string()) }).nullable(),
    more: z.record(z.string(), z.number()),
  });
  expect(columnsOf(jobOf(row))).toEqual([
    ...['id text', 'side text', 'open_interest real or null', 'fills integer', 'is_open integer or null'],
    ...['tags text', 'venue_name text', 'venue_fee_bps real', 'hedge_market text or null'],
    ...['hedge_legs text or null', 'hedge text or null', 'more text'],
  ]);
  const sent = {
    id: 'a',
    side: 'buy',
    openInterest: null,
    fills: 2,
    tags: ['x'],
    venue: { name: 'v', feeBps: 0.5 },
  };
  for (const hedge of [null, { market: 'm', legs: [] }]) {
    const whole = { ...sent, hedge, more: { a: 1 } };
    expect(shownAgain(jobOf(row), whole)).toEqual(whole);
  }
});

it('a property that may be left out is left out where there is none', () => {
  const job = jobOf(z.strictObject({ id: z.string(), rate: z.number().optional() }));
  const { rowJson } = job;
  const database = new Database(':memory:');
  const shown = (rate: string) =>
    database.prepare(`SELECT ${rowJson} FROM (SELECT 'a' AS id, ${rate} AS rate) AS row`).pluck().get();
  expect([shown('1.5'), shown('NULL')]).toEqual(['{"id":"a","rate":1.5}', '{"id":"a"}']);
  database.close();
});
