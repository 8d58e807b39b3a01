/**
 * What the sources start as a process or a thread, compiled once for all tests: to load TypeScript anew takes each of them
 * longer than most of their work.
 */

import { cpSync, existsSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestProject } from 'vitest/node';
import { bundle, root } from '../../scripts/bundle.ts';
import { COMPILED } from './program-file.ts';

/** Beside the program. */
const more = [
  'test/queue/daemon.ts',
  'test/queue/parent.ts',
  'test/reports/life.ts',
  'test/worker-main.ts',
  // What scripts of tests import: see sources.ts.
  ...[
    'base/child',
    'base/clock',
    'governor',
    'job/load',
    'base/log',
    'base/process-name',
    'store',
    'store/read',
  ].map((name) => `src/${name}.ts`),
  'src/serve/access/admission.ts',
];

/** Called by vitest before all tests, in a process of its own; what it returns is called after them. */
export default async function prepare(project: TestProject): Promise<() => void> {
  const folder = mkdtempSync(join(tmpdir(), 'mm-build-'));
  process.env[COMPILED] = folder;
  cpSync(join(root, 'package.json'), join(folder, 'package.json'));
  for (const name of ['node_modules', 'drizzle']) symlinkSync(join(root, name), join(folder, name));
  // A copy of the project may be without the lab.
  const compile = () =>
    bundle(
      folder,
      more.filter((file) => existsSync(join(root, file))),
    );
  await compile();
  project.onTestsRerun(async () => {
    await compile();
  });
  return () => rmSync(folder, { recursive: true, force: true });
}
