/** `npm run pack`: the file that is installed. */

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { built } from './helpers/built.ts';
import { temporaryFolder } from './helpers/folder.ts';

built('src/cli.js');

test('the package holds what runs, loads only what it names, and is made of the commit alone', () => {
  const folder = temporaryFolder('mirror pack-');
  const run = (file: string, args: string[]) => execFileSync(file, args, { encoding: 'utf8', stdio: 'pipe' });
  run(process.execPath, ['--import', 'tsx', 'scripts/pack.ts', '--built', '--to', folder]);
  const [file = ''] = readdirSync(folder);
  expect(file).toBe('market-mirror-1.0.0.tgz');
  run('tar', ['xzf', join(folder, file), '-C', folder]);
  const installed = join(folder, 'package');
  const read = (name: string) => JSON.parse(readFileSync(join(installed, name), 'utf8'));

  const { dependencies, optionalDependencies, scripts } = read('package.json');
  const named = Object.keys({ ...dependencies, ...optionalDependencies });
  const loaded = readdirSync(join(installed, 'dist'), { recursive: true, encoding: 'utf8' })
    .filter((name) => /^(src|jobs)\/.*\.js$/.test(name))
    .flatMap((name) => [
      ...readFileSync(join(installed, 'dist', name), 'utf8').matchAll(
        /^(?:import.*|\}) from "([\w@][\w@/.-]*)";$|\bimport\("([\w@][\w@/.-]*)"\)/gm,
      ),
    ])
    .map(([, early, late]) => (early ?? late ?? '').replace(/^((?:@[^/]+\/)?[^/]+).*/, '$1'));
  const packages = loaded.filter((name) => !name.startsWith('node:') && !builtinModules.includes(name));
  expect([...new Set(packages)].filter((name) => !named.includes(name))).toEqual([]);
  expect(named).not.toContain('drizzle-orm');
  expect(scripts).toBeUndefined();
  const locked = read('npm-shrinkwrap.json').packages;
  expect(named.filter((name) => !locked[`node_modules/${name}`]?.integrity)).toEqual([]);
  // npm installs from a file what package.json names; by ranges it would choose other versions of what those need.
  const top = Object.keys(locked).flatMap(
    (path) => /^node_modules\/((?:@[^/]+\/)?[^/]+)$/.exec(path)?.[1] ?? [],
  );
  expect(top.filter((name) => !named.includes(name))).toEqual([]);
  const exact = { ...dependencies, ...optionalDependencies };
  expect(named.filter((name) => !/^(npm:.*@)?\d+\.\d+\.\d+$/.test(exact[name]))).toEqual([]);

  const { commit } = read('dist/build.json');
  const { serialNumber, metadata, components } = read('sbom.json');
  const digest = createHash('sha256')
    .update(commit ?? 'unknown')
    .digest('hex');
  expect(serialNumber).toMatch(new RegExp(`^urn:uuid:${digest.slice(0, 8)}-`));
  expect(metadata.component.name).toBe('market-mirror');
  const listed = components.map(({ name }: { name: string }) => name);
  expect(listed).toEqual(expect.arrayContaining(['drizzle-orm', 'preact', 'bullmq', 'better-sqlite3']));
  expect(listed).not.toContain('vitest');

  // What its documentation tells to copy is there.
  const examples =
    readFileSync(join(installed, 'docs/reports.md'), 'utf8').match(/(?<=^\| `)[\w-]+\.sql/gm) ?? [];
  expect(readdirSync(join(installed, 'deploy/reports'))).toEqual(examples.toSorted());

  symlinkSync(resolve('node_modules'), join(installed, 'node_modules'));
  expect(run(process.execPath, [join(installed, 'dist/src/cli.js'), '--version'])).toMatch(
    new RegExp(`^1\\.0\\.0 \\(commit ${(commit ?? 'unknown').replace('+', '\\+')}, database \\d+\\)\n$`),
  );
});
