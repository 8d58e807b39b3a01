/** The result of one check. */

import { exitCodes, Failure, type FailureKind } from '../base/errors.ts';

export type Check = {
  /** Stable within one version of `doctor --json`. */
  name: string;
  /** A problem keeps the mirror from its work; a warning is worth a look. */
  level: 'ok' | 'warning' | 'problem' | 'skipped';
  message: string;
  /** What to do; null where the message says it, or there is nothing to do. */
  advice: string | null;
  /** Of this check alone; 0 unless it is a problem. */
  exitCode: number;
};

export const ok = (name: string, message: string): Check => found('ok', name, message, null);

export const skipped = (name: string, message: string): Check => found('skipped', name, message, null);

export const warning = (name: string, message: string, advice: string): Check =>
  found('warning', name, message, advice);

export function problem(
  name: string,
  kind: FailureKind,
  message: string,
  advice: string | null = null,
): Check {
  return { ...found('problem', name, message, advice), exitCode: exitCodes[kind] };
}

function found(level: Check['level'], name: string, message: string, advice: string | null): Check {
  return { name, level, message, advice, exitCode: exitCodes.done };
}

/** A Failure says what to do by itself. @throws any other value. */
export function problemOf(name: string, thrown: unknown, advice: string | null = null): Check {
  if (!(thrown instanceof Failure)) throw thrown;
  const { kind, message } = thrown;
  const said = message.startsWith(name) ? message.slice(name.length).replace(/^:? /, '') : message;
  return problem(name, kind, said, advice);
}
