/** Failures, by what a person or a scheduler should do next, and their exit codes. */

/** Exit codes after sysexits.h; other people's scripts read them. */
export const exitCodes = {
  done: 0,
  usage: 64,
  contract: 65,
  unreachable: 69,
  bug: 70,
  disk: 74,
  incomplete: 75,
  key: 77,
  config: 78,
} as const;

export type FailureKind = Exclude<keyof typeof exitCodes, 'done'>;

const bySeverity: readonly number[] = [64, 78, 74, 70, 77, 65, 69, 75, 0];

/** An error for a person. `message` is one line: what, where, what to do next, never a secret. `kind` decides the exit code. */
export class Failure extends Error {
  override readonly name = 'Failure';
  readonly kind: FailureKind;

  constructor(kind: FailureKind, message: string, options?: ErrorOptions) {
    super(message, options);
    this.kind = kind;
  }

  get exitCode(): number {
    return exitCodes[this.kind];
  }
}

/** Why a call has to wait, for people. */
export const waitReasons = {
  rate: 'the API asks for a lower rate',
  quota: 'the quota is used up',
  reserve: 'only reserved calls are left of the quota',
  retry_after: 'the API asks to wait',
  concurrency: 'the API allows no more calls at the same time',
  key_refused: 'the API refuses the key',
  unavailable: 'the API does not serve it at present',
  blocked: 'something between us and the API (a firewall or proxy) answers 403',
  unreachable: 'the API cannot be reached',
  shutdown: 'the program was told to end',
} as const;

export type WaitReason = keyof typeof waitReasons;

/** Not a failure: the walk resumes at `until` (epoch milliseconds). @param problem why the latest call got no answer, for people. */
export class Snooze extends Error {
  override readonly name = 'Snooze';
  readonly until: number;
  readonly reason: WaitReason;
  readonly problem: string | undefined;

  constructor(until: number, reason: WaitReason, problem?: string) {
    const at = new Date(until).toISOString();
    super(
      problem ? `${problem}; no call is made before ${at}` : `waiting until ${at}: ${waitReasons[reason]}`,
    );
    this.until = until;
    this.reason = reason;
    this.problem = problem;
  }
}

/** The exit code for several jobs: that of the most severe outcome. */
export function worstExitCode(codes: readonly number[]): number {
  return bySeverity.find((code) => codes.includes(code)) ?? exitCodes.done;
}

/** Any thrown value as an Error. */
export function toError(thrown: unknown): Error {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

/** Any thrown value as a Failure; what was none becomes a `bug`. */
export function asFailure(thrown: unknown): Failure {
  return thrown instanceof Failure ? thrown : new Failure('bug', `${toError(thrown).stack}`);
}

/** A Failure for another thread or process, as plain data. */
export type FailureSent = { failed: { kind: FailureKind; message: string } };

export function sentFailure(thrown: unknown): FailureSent {
  const { kind, message } = asFailure(thrown);
  return { failed: { kind, message } };
}

/** The same as it arrives. */
export function receivedFailure({ failed: { kind, message } }: FailureSent): Failure {
  return new Failure(kind, message);
}
