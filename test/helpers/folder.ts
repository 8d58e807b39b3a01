/** Folders that tests make, and that go with them. */

import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** Memory where there is some: what a crash of the machine would do to a disk is not under test. */
export const memory = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();

/** An empty folder, until the test has ended. @param name how its own begins. */
export function temporaryFolder(name = 'mirror-', root = tmpdir()): string {
  const folder = mkdtempSync(join(root, name));
  onTestFinished(() => removeFolder(folder));
  return folder;
}

export const memoryFolder = (name?: string) => temporaryFolder(name, memory);

/** A process that was killed a moment ago may still put files there. */
export function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
}
