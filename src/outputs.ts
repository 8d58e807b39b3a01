/** Standard output and standard error of this process, and what becomes of it where they cannot be written. */

import { createWriteStream, fstatSync } from 'node:fs';
import { diskTrouble } from './disk.ts';
import { exitCodes } from './errors.ts';

const STDOUT = 1;

/** Where results go. What cannot be written there ends the process: quietly where nobody reads on, else with 74. */
export function openStdout(): NodeJS.WritableStream {
  // Of a file that the disk has no more room for, Node.js's own stream drops the rest without a word.
  const stdout = isFile(STDOUT) ? createWriteStream('', { fd: STDOUT, autoClose: false }) : process.stdout;
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    // A reader that has seen enough, such as `head`, is no failure.
    if (error.code === 'EPIPE') process.exit();
    const { code, advice } = diskTrouble(error) ?? { code: error.code, advice: 'see where it goes' };
    process.stderr.write(`market-mirror: standard output cannot be written (${code}): ${advice}\n`);
    process.exit(exitCodes.disk);
  });
  return stdout;
}

/** Where progress and failures go. Where it cannot be written, the exit code alone tells. */
export function openStderr(): NodeJS.WriteStream {
  return process.stderr.on('error', () => undefined);
}

function isFile(descriptor: number): boolean {
  try {
    return fstatSync(descriptor).isFile();
  } catch {
    return false;
  }
}
