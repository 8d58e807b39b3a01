import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { beforeEach, describe, expect, test } from 'vitest';
import { loadJobs } from '../src/job/load.ts';
import { temporaryFolder } from './helpers/folder.ts';

let folder: string;

beforeEach(() => {
  folder = temporaryFolder();
});

/** A job file as a build leaves it, with some of it replaced. */
function writeJob(file: string, replaced: Record<string, string> = {}, name = file.replace('.js', '')): void {
  const members = {
    about: `'Orders, one row an order.'`,
    path: `'/api/v1/orders'`,
    scope: 'null',
    schedule: `'every 5m'`,
    ...replaced,
  };
  const declared = Object.entries(members).map(([name, value]) => `${name}: ${value}`);
  writeFileSync(
    join(folder, file),
    `import { defineJob } from ${JSON.stringify(new URL('../src/job.ts', import.meta.url).href)};
     export default defineJob('${name}', { ${declared.join(', ')} });`,
  );
}

const load = () => loadJobs(pathToFileURL(`${folder}/`));

test('every file is a job, named by its file, in the order of the names', async () => {
  writeJob('orders.js');
  writeJob('funding-rates.js');
  writeFileSync(join(folder, 'orders.d.ts'), '');
  writeFileSync(join(folder, 'README.md'), '');
  const jobs = await load();
  expect(jobs.map(({ name }) => name)).toEqual(['funding-rates', 'orders']);
  expect(jobs[1]).toMatchObject({ path: '/api/v1/orders', weight: 1, reading: 'list', contract: undefined });
});

describe('one bad file stops the start, and is named with what is wrong with it', () => {
  test.each([
    ['Orders.js', {}, /a job's file is named in lower case with hyphens/],
    ['orders.js', { path: `'api/v1/orders'` }, /path is not a path such as/],
    ['orders.js', { path: `'/api/v1/orders?limit=1'` }, /path is not a path such as/],
    ['orders.js', { schedule: `'sometimes'` }, /schedule is not a schedule such as/],
    ['orders.js', { scope: `''` }, /scope/],
    ['orders.js', { about: `''` }, /about/],
    ['orders.js', { weight: '0' }, /weight/],
    ['orders.js', { views: 'viewsOf()' }, /cannot be loaded: viewsOf is not defined/],
  ])('%s with %o', async (file, replaced, message) => {
    writeJob('assets.js');
    writeJob(file, replaced);
    await expect(load()).rejects.toMatchObject({ kind: 'bug', message: expect.stringMatching(message) });
    await expect(load()).rejects.toThrow(join(folder, file));
  });

  test('a file that declares a job of another name', async () => {
    writeJob('orders.js', {}, 'assets');
    await expect(load()).rejects.toThrow(/orders.js: its default export is no job: name /);
  });

  test('a file that declares nothing', async () => {
    writeFileSync(join(folder, 'orders.js'), 'export const table = 1;');
    await expect(load()).rejects.toThrow('orders.js: its default export is no job');
  });
});
