/** A step of the build: the program in `dist/`, of which commit it is, and the licences of what became part of it. */

import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { bundle, root } from './bundle.ts';
import { licencesOf } from './licences.ts';

const notices = licencesOf(root, await bundle(root));
writeFileSync(join(root, 'dist/build.json'), `${JSON.stringify(buildInfo(root))}\n`);
writeFileSync(join(root, 'dist/licences.txt'), `${notices.join('\n\n')}\n`);

export type BuildInfo = { commit: string | null; committedAt: string | null };

/** Null where there is no git, as in an image. A commit with changes that are not in it ends with `+`. */
function buildInfo(root: string): BuildInfo {
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  try {
    const [commit = '', committedAt = ''] = git('log', '-1', '--format=%H %cI').split(' ');
    const isChanged = git('status', '--porcelain', '--untracked-files=no') !== '';
    return { commit: commit.slice(0, 12) + (isChanged ? '+' : ''), committedAt };
  } catch {
    return { commit: null, committedAt: null };
  }
}
