/** What goes wrong, as the page is told of it: with a line of `QueryLine`, whatever it asked for. */

import type { FailureKind } from '../../errors.ts';
import { type Answer, jsonAnswer } from '../service/answers.ts';

/** @param retryAfter seconds until it is worth trying again. */
export function failedAnswer(
  status: number,
  kind: FailureKind,
  message: string,
  retryAfter: number | null = null,
): Answer {
  const wait: Answer['headers'] = retryAfter === null ? {} : { 'Retry-After': String(retryAfter) };
  return jsonAnswer(status, { failed: { kind, message } }, wait);
}

const BUSY_SECONDS = 2;

export const busyAnswer = (what: string): Answer =>
  failedAnswer(503, 'incomplete', `too many ${what} at the same time: try again in a moment`, BUSY_SECONDS);
