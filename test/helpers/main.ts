/** The command line within this process: the same commands, settings and exit codes, on a virtual clock. */

import type { Clock } from '../../src/clock.ts';
import { main } from '../../src/main.ts';
import type { Ended } from './cli.ts';

export async function runMain(
  args: string[],
  environment: Record<string, string>,
  clock: Clock,
  signal: AbortSignal = new AbortController().signal,
): Promise<Ended> {
  const written = { stdout: '', stderr: '' };
  const into = (stream: keyof typeof written) => ({
    write(text: string) {
      written[stream] += text;
    },
  });
  const code = await main(args, {
    environment,
    clock,
    signal,
    random: () => 0.5,
    stdout: into('stdout'),
    stderr: into('stderr'),
  });
  return { code, ...written };
}
