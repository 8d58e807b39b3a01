/** Sends what reports tell: to the webhook, or to the command of the report. A message is marked as sent once it has arrived. */

import { setMaxListeners } from 'node:events';
import { codeOf, openConnections, readHeaders } from '../api.ts';
import { runCommand, type Write } from '../app/on-change.ts';
import { backoffMs } from '../base/backoff.ts';
import type { Clock, Random } from '../base/clock.ts';
import type { Environment } from '../base/environment.ts';
import { toError } from '../base/errors.ts';
import { version } from '../base/version.ts';
import type { Webhook } from '../config.ts';
import { isLock, type ReportMessage, type ReportState, tryLock } from '../store.ts';
import type { Report } from './file.ts';

export type SendParts = {
  dir: string;
  /** Of the reports: their commands run there. */
  folder: string;
  webhook: Webhook | undefined;
  reports: readonly Report[];
  state: ReportState;
  /** Of commands, beside what the message says. */
  environment: Environment;
  /** Gets what a command of a report writes. */
  say: (level: 'info' | 'warn', report: string, text: string) => void;
  clock: Pick<Clock, 'now'>;
  random: Random;
  /** Whether to try at once what could not be sent a moment ago: a person asks for it. */
  again?: boolean;
};

/** Each failure of a message doubles its pause. */
const pauses = { firstMs: 2_000, longestMs: 10 * 60_000 };
/** Of a webhook's Retry-After no more is believed. */
const LONGEST_RETRY_AFTER_MS = 60 * 60_000;
/** Within which a webhook must answer. */
const ANSWER_MS = 10_000;
/** Of the answer, which nobody reads. */
const MAX_ANSWER_BYTES = 65_536;

/** Why a message was not sent. `isOfAll`: no other message to the webhook gets there now, either. `waitMs`: how long the webhook asks to wait. */
type Refusal = { why: string; isOfAll: boolean; waitMs?: number };

/** The ids of the messages that were sent, and why others were not, by report. */
type Outcome = { sent: string[]; refused: Map<string, string> };

/** A command that hangs for minutes holds up no other receiver. @returns nothing of a receiver to which another call, or process, sends. */
export async function sendMessages(parts: SendParts, signal: AbortSignal): Promise<Outcome> {
  const { state, again = false } = parts;
  // Each receiver listens to it.
  setMaxListeners(0, signal);
  const outcome: Outcome = { sent: [], refused: new Map() };
  const idsByLock = new Map<string, string[]>();
  for (const { id, report, receiver } of state.unsent(again ? 0 : LONGEST_RETRY_AFTER_MS)) {
    const lock = receiver === 'webhook' ? 'reports' : `reports-${report}`;
    const ids = idsByLock.get(lock);
    if (ids) ids.push(id);
    else idsByLock.set(lock, [id]);
  }
  const sending = [...idsByLock].map(([lock, ids]) => sendInOrder(parts, lock, ids, outcome, signal));
  for (const ended of await Promise.allSettled(sending)) if (ended.status === 'rejected') throw ended.reason;
  return outcome;
}

/** Sends what one receiver is to get, and adds to `outcome`. */
async function sendInOrder(
  parts: SendParts,
  lockName: string,
  ids: readonly string[],
  outcome: Outcome,
  signal: AbortSignal,
): Promise<void> {
  const { dir, state, random } = parts;
  const lock = tryLock(dir, lockName);
  if (!isLock(lock)) return;
  try {
    for (const id of ids) {
      const message = state.messageToSend(id);
      if (!message) continue;
      const refusal = await send(parts, message, signal);
      if (signal.aborted) return;
      if (!refusal) {
        state.sent(message);
        outcome.sent.push(id);
        continue;
      }
      outcome.refused.set(message.report, refusal.why);
      const waitMs = Math.min(refusal.waitMs ?? 0, LONGEST_RETRY_AFTER_MS);
      const pauseMs = Math.max(waitMs, backoffMs(message.failures + 1, pauses, random()));
      state.notSent(message, refusal.why, pauseMs, refusal.isOfAll);
      if (refusal.isOfAll) return;
    }
  } finally {
    lock.release();
  }
}

async function send(
  parts: SendParts,
  message: ReportMessage,
  signal: AbortSignal,
): Promise<Refusal | undefined> {
  const { webhook, clock } = parts;
  if (message.receiver === 'command') return await give(parts, message, signal);
  if (!webhook) return { why: 'MIRROR_NOTIFY is not set any more', isOfAll: true };
  return await post(webhook, message.body, clock.now(), signal);
}

/** Errors are told by their codes alone: their messages may name the address, which is a secret. */
async function post(
  { url, proxy }: Webhook,
  body: string,
  now: number,
  signal: AbortSignal,
): Promise<Refusal | undefined> {
  const { origin, pathname, search } = new URL(url);
  const bounds = { connectMs: ANSWER_MS, headersMs: ANSWER_MS, bodyBytes: MAX_ANSWER_BYTES };
  const { dispatcher } = openConnections(origin, proxy, bounds);
  const late = AbortSignal.timeout(ANSWER_MS);
  try {
    const response = await dispatcher.request({
      ...{
        origin,
        path: `${pathname}${search}`,
        method: 'POST',
        body,
        signal: AbortSignal.any([signal, late]),
      },
      headers: { 'content-type': 'application/json', 'user-agent': `market-mirror/${version()}` },
    });
    await response.body.dump({ limit: MAX_ANSWER_BYTES }).catch(() => undefined);
    const refusal = judgeAnswer(response.statusCode);
    const { retryAfterMs } = readHeaders(response.headers, now);
    return refusal && { ...refusal, ...(refusal.isOfAll && retryAfterMs && { waitMs: retryAfterMs }) };
  } catch (thrown) {
    const why = late.aborted
      ? `did not answer within ${ANSWER_MS / 1_000} s`
      : `was not reached (${codeOf(toError(thrown))})`;
    return { why: `the webhook ${why}`, isOfAll: true };
  } finally {
    await dispatcher.destroy().catch(() => undefined);
  }
}

function judgeAnswer(status: number): Refusal | undefined {
  if (status >= 200 && status < 300) return undefined;
  const hint =
    status >= 300 && status < 400 ? ', which leads elsewhere: set MIRROR_NOTIFY to that address' : '';
  // It may refuse this message, and take the next one.
  const isOfThis =
    status >= 400 && status < 500 && ![401, 403, 404, 407, 408, 410, 425, 429].includes(status);
  return { why: `the webhook answered ${status}${hint}`, isOfAll: !isOfThis };
}

async function give(
  { reports, folder, environment, say }: SendParts,
  { id, report: name, body }: ReportMessage,
  signal: AbortSignal,
): Promise<Refusal | undefined> {
  const report = reports.find((known) => known.name === name);
  if (report?.command === undefined) return { why: `${name}.sql has no command any more`, isOfAll: false };
  const { text, file } = JSON.parse(body) as { text: string; file: string | null };
  const env = { ...environment, REPORT: name, REPORT_ID: id, REPORT_TEXT: text, REPORT_FILE: file ?? '' };
  const write: Write = (level, line) => say(level, name, line);
  try {
    const failure = await runCommand(report.command, { env, cwd: folder, input: body }, write, signal);
    return failure === undefined ? undefined : { why: `the command ${failure}`, isOfAll: false };
  } catch (thrown) {
    return { why: `the command was not run: ${toError(thrown).message}`, isOfAll: false };
  }
}
