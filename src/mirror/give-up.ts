import { Failure, type FailureKind } from '../errors.ts';
import type { WalkSession } from '../store/index.ts';

/** Ends a walk whose place is worth nothing; what it has brought is kept. Returns the failure to throw. */
export function giveUp(session: WalkSession, kind: FailureKind, message: string): Failure {
  session.giveUp(message);
  return new Failure(kind, message);
}
