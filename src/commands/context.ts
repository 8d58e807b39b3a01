/** What every command is given: its surroundings, where it writes, and the signal that ends it. */

import type { Surroundings } from '../app.ts';
import type { Output } from '../output/stream.ts';

export type Context = Surroundings & {
  /** Results. */
  stdout: Output;
  /** Logs and progress. */
  stderr: Output;
  /** Aborted by SIGINT or SIGTERM. */
  signal: AbortSignal;
  /** The code to end with where the command ended without an error. */
  exit(code: number): void;
};
