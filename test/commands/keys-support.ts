/** `keys` on the command line, in a folder of its own. */

import { expect } from 'vitest';
import { runMain } from '../helpers/main.ts';
import { virtualClock } from '../helpers/virtual-clock.ts';
import { folder } from '../serve/support.ts';

export function setupKeysCommand(dir = folder()) {
  const clock = virtualClock();
  const run = (...args: string[]) => runMain(['keys', ...args], { MIRROR_DIR: dir }, clock);
  const json = async (...args: string[]) => {
    const { code, stdout } = await run(...args, '--json');
    expect([args, code]).toEqual([args, 0]);
    return JSON.parse(stdout);
  };
  return { dir, clock, run, json };
}
