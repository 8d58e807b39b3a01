/** Documentation that is held to the code: what it says is there, is there, and runs. */

import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { renderCommands, renderMetrics, renderSettings } from '../scripts/docs/pages.ts';
import { renderTables } from '../scripts/docs/tables.ts';
import { exitCodes } from '../src/base/errors.ts';
import { loadJobs } from '../src/job/load.ts';
import { openReadOnly } from '../src/store/connection.ts';
import { openStore } from '../src/store.ts';

const pages = [
  ...readdirSync('.').filter((name) => name.endsWith('.md')),
  ...['docs', 'docs/dev'].flatMap((folder) =>
    readdirSync(folder)
      .filter((name) => name.endsWith('.md'))
      .map((name) => join(folder, name)),
  ),
];
const projectFiles = ['src', 'test', 'jobs', 'model-api', 'web', 'lab', 'scripts'].flatMap((room) =>
  readdirSync(room, { recursive: true, encoding: 'utf8' }),
);
/** The file that CONTRIBUTING.md tells how to write. */
const sixthEndpoint = 'jobs/funding-rates.ts';
const read = (page: string) => readFileSync(page, 'utf8');

const folder = mkdtempSync(join(tmpdir(), 'mirror-docs-'));
openStore(folder, await loadJobs(), Date.now).close();
const database = openReadOnly(join(folder, 'mirror.db'));
afterAll(() => {
  database.close();
  rmSync(folder, { recursive: true });
});

test('docs/tables.md is what npm run docs writes', async () => {
  expect(read('docs/tables.md'), 'run: npm run docs').toBe(await renderTables());
});

test('docs/cli.md is what npm run docs writes', async () => {
  expect(read('docs/cli.md'), 'run: npm run docs').toBe(await renderCommands());
});

test('docs/metrics.md is what npm run docs writes', () => {
  expect(read('docs/metrics.md'), 'run: npm run docs').toBe(renderMetrics());
});

test('docs/settings.md is what npm run docs writes', () => {
  expect(read('docs/settings.md'), 'run: npm run docs').toBe(renderSettings());
});

describe.each(pages)('%s', (page) => {
  const links = [...read(page).matchAll(/\]\((?!https?:)([^)#]*)(?:#([^)]+))?\)/g)];

  if (links.length > 0)
    test('links only to what is there', () => {
      for (const [link, file = '', anchor] of links) {
        const target = file === '' ? page : join(dirname(page), file);
        expect(existsSync(target), link).toBe(true);
        if (anchor) expect(anchorsOf(target), link).toContain(anchor);
      }
    });

  const statements = [...read(page).matchAll(/```sql\n(.*?)```/gs)].flatMap(([, sql = '']) =>
    sql.split(/;\s*$/m).filter((statement) => statement.trim() !== ''),
  );

  if (statements.length > 0)
    test('shows only SQL that runs', () => {
      for (const sql of statements) expect(() => database.prepare(sql).all(), sql).not.toThrow();
    });

  test('names only files of the project that are there', () => {
    const gone = pathsIn(read(page)).filter((path) => !isThere(path));
    expect(gone, `${page}: write where these files are now, or name what took their place`).toEqual([]);
  });
});

test.each(Object.entries(exitCodes))(
  'docs/operations.md tells of the exit code for %s, and what to do',
  (_, code) => {
    expect(read('docs/operations.md')).toMatch(new RegExp(`^\\| ${code} \\| `, 'm'));
    if (code !== 0) expect(read('docs/operations.md')).toMatch(new RegExp(`^### ${code}: `, 'm'));
  },
);

describe('docs/dev/promises.md names the test that holds', () => {
  const rules = [...read('docs/dev/promises.md').matchAll(/^\| (.+?) \| (`.+) \|$/gm)].map(
    ([, rule, tests = '']) => ({
      rule,
      tests,
    }),
  );

  test.each(rules)('the rule: $rule', ({ tests }) => {
    const named = tests.split(/[;,] (?=`)/).map((test) => /^`([^`]+)`(?:: (.+))?$/.exec(test) ?? []);
    for (const [, name, titles] of named) {
      const source = read(`test/${name}.test.ts`).replace(/\s+/g, ' ');
      const gone = titles?.split(', ').filter((title) => !source.includes(title));
      expect(gone ?? [], `test/${name}.test.ts has other titles now`).toEqual([]);
    }
  });
});

/**
 * What looks like a path of ours between backticks: `store/rows.ts`, `docs/cli.md`, a test as `store/open`, a file
 * name as `gate.ts`. What starts with a dot, a slash or a variable belongs to the user, and the build makes `dist/`.
 */
function pathsIn(markdown: string): string[] {
  return [...markdown.matchAll(/`([a-z][\w-]*(?:(?:\/[\w.*-]+)+\/?|\.ts))`/g)]
    .map(([, path = '']) => path)
    .filter((path) => !/^(dist|application|text)\//.test(path) && path !== sixthEndpoint);
}

/** From the root, from `src`, or, of a test, from `test`. */
function isThere(path: string): boolean {
  if (!path.includes('/')) return projectFiles.some((file) => basename(file) === path);
  const file = path.replace(/\/\*?$/, '');
  return ['', 'src', 'test'].some((room) =>
    ['', '.ts', '.test.ts'].some((ending) => existsSync(join(room, `${file}${ending}`))),
  );
}

/** As the usual Markdown renderers make them from headings. */
function anchorsOf(page: string): string[] {
  return [...read(page).matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
}

test('the pages that messages point to come with the package', () => {
  const sources = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((file) =>
    /\.ts$/.test(file),
  );
  const named = sources.flatMap((file) => read(join('src', file)).match(/\bdocs\/[\w-]+\.md\b/g) ?? []);
  expect(named).toContain('docs/operations.md');
  expect([...new Set(named)].filter((page) => !existsSync(page))).toEqual([]);
  expect(JSON.parse(read('package.json')).files).toContain('docs/*.md');
});
