import { real, text } from 'drizzle-orm/sqlite-core';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { served } from '../../src/job/served.ts';
import { defineJob, type Job, mirrorTable, tableOf } from '../../src/job.ts';
import { loadJobs } from '../../src/load-jobs.ts';
import { Database } from '../../src/store/sqlite.ts';
import { checkAgain } from '../../src/validate.ts';

const jobs = await loadJobs();
const signals = jobs.find(({ name }) => name === 'ai-signals') as Job;

/** The row as it is shown again once its columns are in a table. */
function shownAgain(job: Job, row: unknown): unknown {
  const [accepted] = checkAgain(job, JSON.stringify(row), undefined).accepted;
  if (!accepted) throw new Error('the row does not fit');
  const { columns, rowJson } = served(job);
  const database = new Database(':memory:');
  const types = new Map([
    ['real', 'REAL'],
    ['integer', 'INTEGER'],
  ]);
  const declared = columns.map((name) => {
    const column = (job.table as unknown as Record<string, { getSQLType(): string }>)[name];
    return `"${name}" ${types.get(column?.getSQLType() ?? '') ?? 'TEXT'}`;
  });
  database.exec(`CREATE TABLE ${tableOf(job)} (${declared.join(', ')})`);
  database
    .prepare(`INSERT INTO ${tableOf(job)} VALUES (${columns.map(() => '?').join(', ')})`)
    .run(columns.map((name) => accepted.values[name] ?? null));
  const json = database
    .prepare<[], string>(`SELECT ${rowJson} FROM ${tableOf(job)} AS row`)
    .pluck()
    .get();
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

function jobOf(row: z.ZodObject): Job {
  const { table, rows, history } = mirrorTable('rates', { id: text().notNull(), rate: real() });
  const columns = (of: { id?: string; rate?: number | null }) => ({ id: of.id ?? '', rate: of.rate ?? null });
  const contract = { page: z.strictObject({}), row, key: columns, columns, volatile: [] } as never;
  const [path, schedule] = ['/rates', 'off'];
  return {
    name: 'rates',
    ...defineJob({ about: '', path, scope: null, schedule, table, rows, history, contract }),
  };
}

it('a property that may be left out is left out where there is none', () => {
  const job = jobOf(z.strictObject({ id: z.string(), rate: z.number().optional() }));
  const { rowJson } = served(job);
  const database = new Database(':memory:');
  const shown = (rate: string) =>
    database.prepare(`SELECT ${rowJson} FROM (SELECT 'a' AS id, ${rate} AS rate) AS row`).pluck().get();
  expect([shown('1.5'), shown('NULL')]).toEqual(['{"id":"a","rate":1.5}', '{"id":"a"}']);
  database.close();
});

it('a contract whose properties no column shows is an error of the build', () => {
  const job = jobOf(z.strictObject({ id: z.string(), price: z.number() }));
  expect(() => served(job)).toThrow('no column price');
});

it('rows of other datasets are shown as received', () => {
  for (const job of jobs.filter(({ contract }) => !contract)) expect(served(job).rowJson).toBe('row."_body"');
});
