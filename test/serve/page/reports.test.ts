/** Reports for the page: when each runs next, and its last file, from the folder of their files alone. */

import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { setupPage } from './support.ts';

test('a report is told with its next run and its SQL; its file is sent to those who may see the page, and nothing from elsewhere', async () => {
  const { bench, get, url } = await setupPage({ walked: ['news'] });
  const folder = join(bench.dir, 'reports');
  const elsewhere = join(bench.dir, 'reports-elsewhere');
  mkdirSync(join(folder, 'day'), { recursive: true });
  mkdirSync(elsewhere);
  writeFileSync(join(folder, 'day', 'ü "1".html'), '<script>');
  writeFileSync(join(elsewhere, 'secret'), 'secret');
  symlinkSync(join(elsewhere, 'secret'), join(folder, 'link'));
  const add = (name: string, head: string, file: string | null) =>
    bench.tamper(
      `INSERT INTO _reports (name, title, sql, ran_at, receipt) VALUES ('${name}', '${name}', '${head}-- to: a.csv\nSELECT 1',
         '2026-11-21T11:30:00.000Z', json_object('file', ${file === null ? 'NULL' : `'${file}'`}))`,
    );
  const files = {
    good: join(folder, 'day', 'ü "1".html'),
    link: join(folder, 'link'),
    folder: join(folder, 'day'),
    above: join(folder, '..', 'mirror.db'),
    outside: join(elsewhere, 'secret'),
    gone: join(folder, 'gone'),
    none: null,
  };
  for (const [name, file] of Object.entries(files)) add(name, '-- run: every 1h\n', file);
  add('wrong', '-- rum: every 1h\n', null);
  add('onchange', '', null);
  add('failing', '', null);
  bench.tamper(`UPDATE _reports SET error = 'no', failures = 3 WHERE name = 'failing'`);

  const answer = await get('/page/reports');
  const reports = (await answer.json()) as { report: string; file: string | null }[];
  const named = (name: string) => reports.find(({ report }) => report === name);
  expect(named('good')).toEqual({
    ...{ report: 'good', run: 'every 1h', nextRun: '2026-11-21T12:30:00.000Z', file: 'day/ü "1".html' },
    sql: '-- run: every 1h\n-- to: a.csv\nSELECT 1',
  });
  expect(named('onchange')).toMatchObject({ run: 'on change', nextRun: null });
  expect(named('failing')).toMatchObject({ run: 'on change', nextRun: '2026-11-21T11:34:00.000Z' });
  expect(named('wrong')).toMatchObject({ run: null, nextRun: null });
  expect(reports.filter(({ file }) => file !== null).map(({ report }) => report)).toEqual(['good']);

  const file = await get('/page/reports/good/file');
  expect(await file.text()).toBe('<script>');
  // Of a page of ours it must not become a part.
  expect(file.headers.get('content-disposition')).toBe(`attachment; filename*=UTF-8''%C3%BC%20%221%22.html`);
  expect(file.headers.get('content-type')).toBe('application/octet-stream');
  for (const name of [...Object.keys(files).filter((name) => name !== 'good'), 'unknown', '..%2Fgood'])
    expect([name, (await get(`/page/reports/${name}/file`)).status]).toEqual([name, 404]);
  for (const path of ['/page/reports', '/page/reports/good/file'])
    expect((await fetch(`${url}${path}`)).status, 'without a session').toBe(401);
});
