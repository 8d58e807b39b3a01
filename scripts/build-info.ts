/** Of which commit a build is; it is written down, since an installed program has no git. */

import { execFileSync } from 'node:child_process';

export type BuildInfo = { commit: string | null; committedAt: string | null };

/** Null where there is no git, as in an image. A commit with changes that are not in it ends with `+`. */
export function buildInfo(root: string): BuildInfo {
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
