/** What every file in `jobs/` must be, whoever writes the next one. */

import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getTableColumns } from 'drizzle-orm';
import { getTableConfig, type SQLiteTable } from 'drizzle-orm/sqlite-core';
import { afterAll, describe, expect, test } from 'vitest';
import { endpoints, sampleKey, startModelApi } from '../model-api/index.ts';
import type { Body } from '../src/api/response.ts';
import { loadJobs } from '../src/job/load.ts';
import type { Job } from '../src/job.ts';
import { openReadOnly } from '../src/store/connection.ts';
import { openStore } from '../src/store.ts';
import { checkPage } from '../src/validate.ts';

const ROWS = 300;
const jobs = await loadJobs();
const folder = mkdtempSync(join(tmpdir(), 'mirror-conformance-'));
openStore(folder, jobs, Date.now).close();
const database = openReadOnly(join(folder, 'mirror.db'));
const model = await startModelApi({ rows: ROWS });
afterAll(async () => {
  await model.close();
  database.close();
  rmSync(folder, { recursive: true });
});

const versioned = ['_key', '_first_seen_at', '_changed_at', '_walk_id'];
const bookkeeping = [...versioned, '_held_since', '_held_reason'];
test('the files of jobs/ are the jobs, each in a place of its own', () => {
  const files = readdirSync(new URL('../jobs', import.meta.url)).map((file) => file.replace('.ts', ''));
  expect(jobs.map(({ name }) => name)).toEqual(files.sort());
  expect(new Set(jobs.map(({ path }) => path)).size).toBe(jobs.length);
});

test('every endpoint of the specification has its job', () => {
  expect(jobs.map(({ path }) => path)).toEqual(expect.arrayContaining(endpoints.map(({ path }) => path)));
});

describe.each(jobs)('$name', (job) => {
  const { name, contract, columns: own } = job;
  const { rows, volatile, versions } = job.tables;
  test('has its table named after it, says in whole sentences what it mirrors, and asks for the scope that the specification names', () => {
    expect(job.table).toBe(name.replaceAll('-', '_'));
    expect(job.about).toMatch(/^[A-Z].{10,}\.$/s);
    const endpoint = endpoints.find(({ path }) => path === job.path);
    if (endpoint) expect(job.scope).toBe(endpoint.scope);
    else expect(job.scope ?? 'some:read').toMatch(/^[a-z]+(-[a-z]+)*:read$/);
    // It is kept whole where its shape is not specified.
    if (!contract) expect(own).toContain('_body');
  });

  test('carries the bookkeeping, with a number as its primary key that is never given twice', () => {
    expect(Object.keys(getTableColumns(rows))).toEqual(expect.arrayContaining(['number', ...bookkeeping]));
    expect(primaryKey(job.rows)).toEqual(['number']);
    expect(sqlOf(job.rows)).toContain('AUTOINCREMENT');
  });

  test('has its tables in the migrations, just as declared', () => {
    for (const table of [rows, ...(volatile ? [volatile] : []), ...(versions ? [versions] : [])])
      expect(columnsInDatabase(getTableConfig(table).name)).toEqual(declaredColumns(table));
  });
});

describe.each(
  jobs.filter(({ contract, path }) => contract && endpoints.some((known) => known.path === path)),
)('the contract of $name', (job) => {
  const own = job.columns;

  test('takes what the model of the API sends as it is, and fills every column', async () => {
    const filled = new Set<string>();
    const keys = new Set<string>();
    for (let offset = 0; offset < ROWS; offset += 100) {
      const { rows, drifts } = checkPage(job, ...(await page(job, offset)));
      const accepted = rows.flatMap(({ row }) => row ?? []);
      expect({ drifts, rows: accepted.length, all: rows.length }).toEqual({
        drifts: [],
        rows: 100,
        all: 100,
      });
      for (const { key, values } of accepted) {
        keys.add(key);
        expect(Object.keys(values).sort()).toEqual([...own].sort());
        for (const [column, value] of Object.entries(values)) if (value !== null) filled.add(column);
      }
    }
    expect([...filled].sort()).toEqual(own.filter((column) => column !== 'extra').sort());
    expect(keys.size).toBe(ROWS);
    expect(own).toEqual(expect.arrayContaining([...(job.contract?.volatile ?? [])]));
  });

  test('keeps what it does not know in extra', async () => {
    const [, sent] = await page(job, 0);
    const [row] = sent.rows;
    const changed = { ...sent, rows: [{ ...row, unheardOf: { of: 1 } }] };
    const { rows } = checkPage(job, { text: () => JSON.stringify(changed) }, changed);
    expect(rows[0]?.row?.values['extra']).toBe('{"unheardOf":{"of":1}}');
  });
});

async function page({ path }: Job, offset: number): Promise<[Pick<Body, 'text'>, json: { rows: object[] }]> {
  const response = await fetch(`${model.url}${path}?offset=${offset}&limit=100`, {
    headers: { authorization: `Bearer ${sampleKey.key}` },
  });
  const text = await response.text();
  return [{ text: () => text }, JSON.parse(text)];
}

type Column = { name: string; type: string; notnull: number };

function columnsInDatabase(table: string): Column[] {
  return database
    .prepare<[string], Column>('SELECT name, type, "notnull" FROM pragma_table_xinfo(?) ORDER BY cid')
    .all(table);
}

const sqlOf = (table: string) =>
  database.prepare<[string], string>('SELECT sql FROM sqlite_master WHERE name = ?').pluck().get(table);

function primaryKey(table: string): string[] {
  return database
    .prepare<[string], string>('SELECT name FROM pragma_table_info(?) WHERE pk > 0')
    .pluck()
    .all(table);
}

function declaredColumns(table: SQLiteTable): Column[] {
  return Object.values(getTableColumns(table)).map((column) => ({
    name: column.name,
    type: column.getSQLType().toUpperCase(),
    notnull: Number(column.notNull),
  }));
}
