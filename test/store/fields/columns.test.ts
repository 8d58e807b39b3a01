import { describe, expect, it } from 'vitest';
import type { Job } from '../../../src/job.ts';
import { loadJobs } from '../../../src/load-jobs.ts';
import type { SeenField } from '../../../src/page.ts';
import { Database } from '../../../src/store/db/sqlite.ts';
import { watchFields } from '../../../src/store/fields.ts';
import { createDriftLog } from '../../../src/store/records/drift.ts';
import { createTableWriter } from '../../../src/store/walk/rows.ts';
import { setup } from '../../helpers/setup.ts';
import { bytesWritten, openTables, setupTold } from '../support.ts';

const jobs = await loadJobs();
const news = jobs.find(({ name }) => name === 'news') as Job;

const columnsOf = (database: Database, table: string) =>
  database.prepare('SELECT name FROM pragma_table_xinfo(?)').pluck().all(table);

describe('a new column', () => {
  it('writes nothing to the rows that are stored', () => {
    const connection = openTables(jobs);
    const writer = createTableWriter(connection, news);
    connection.transaction(() => {
      for (let at = 0; at < 2_000; at += 1) {
        const body = JSON.stringify({ id: at, text: 'x'.repeat(1_000), later: at });
        writer.write(writer.examine({ key: String(at), values: { _body: body } }), 1, 'now');
      }
    })();
    const seen: SeenField = { path: ['later'], types: ['integer'], values: 1, example: 1 };
    const written = bytesWritten(connection, () => {
      const watch = watchFields(connection, news, 1, createDriftLog(connection, 'news'));
      const origin = { job: 'news', walkId: 1, requestId: null, now: 'now' };
      connection.transaction(() => watch.note({ rows: 1, fields: [seen] }, origin))();
    });
    expect(connection.prepare('SELECT sum(later) FROM news').pluck().get()).toBe((2_000 * 1_999) / 2);
    expect(written).toBeLessThan(12 * 4_120);
  });

  it('is a page’s like its rows: where the page cannot be saved, there is none', async () => {
    const bench = await setupTold();
    bench.tamper(`CREATE TRIGGER fails BEFORE INSERT ON news BEGIN SELECT raise(ABORT, 'no'); END`);
    await expect(bench.mirrorRows('news', '{"id":"a"}')).rejects.toThrow('no');
    expect(bench.sql('SELECT * FROM fields')).toEqual([]);
    bench.tamper('DROP TRIGGER fails');
    await bench.mirrorRows('news', '{"id":"a"}');
    expect(bench.sql('SELECT id FROM news')).toEqual([{ id: 'a' }]);
  });

  it('comes while others read, who see it from their next statement on', async () => {
    const bench = await setupTold();
    await bench.mirrorRows('news', '{"id":"a"}', '{"id":"b"}');
    const reader = new Database(bench.store.file, { readonly: true });
    const all = reader.prepare<[], Record<string, unknown>>('SELECT * FROM news ORDER BY _key');
    const reading = all.iterate();
    expect(reading.next().value).toMatchObject({ id: 'a' });
    await bench.mirrorRows('news', '{"id":"a","title":"x"}', '{"id":"b"}');
    const rest = [...reading];
    expect(rest).toMatchObject([{ id: 'b' }]);
    expect(rest[0]).not.toHaveProperty('title');
    expect(all.all()).toMatchObject([
      { id: 'a', title: 'x' },
      { id: 'b', title: null },
    ]);
    bench.store.governor.transact(() => ({ state: { learnt: 1 }, result: null }));
    expect(bench.store.governor.transact((state) => ({ state, result: state }))).toEqual({ learnt: 1 });
    reader.close();
  });
});

describe('columns that a migration dropped with the table it rebuilt', () => {
  it('are there again when the mirror is next opened, in the history too', async () => {
    const bench = await setup({ rows: 30 });
    await bench.mirror('news');
    const before = bench.sql('SELECT * FROM news ORDER BY _key');
    const own = '_body, _key, _first_seen_at, _changed_at, _walk_id';
    for (const [table, columns] of [
      ['news', own],
      ['news_history', `${own}, _valid_from, _valid_to, _ended_by`],
    ])
      bench.tamper(`PRAGMA legacy_alter_table = ON; CREATE TABLE rebuilt AS SELECT ${columns} FROM ${table}; DROP TABLE ${table};
        ALTER TABLE rebuilt RENAME TO ${table}; ${table === 'news' ? 'CREATE UNIQUE INDEX news_key ON news (_key);' : ''}`);
    expect(bench.sql('SELECT * FROM news')[0]).not.toHaveProperty('headline');
    bench.reopen();
    const after = bench.sql('SELECT * FROM news ORDER BY _key');
    expect(after).toEqual(before.map((row) => expect.objectContaining(row)));
    const database = new Database(bench.store.file, { readonly: true });
    expect(columnsOf(database, 'news_history')).toContain('source_name');
    database.close();
    expect(await bench.mirror('news')).toMatchObject({ inserted: 0, updated: 0, drifted: 0 });
  });
});
