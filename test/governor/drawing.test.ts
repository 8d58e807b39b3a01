/** docs/governor.md draws the governor. The drawings are read as data here, and held to what the governor does. */

import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { WaitReason } from '../../src/errors.ts';
import type { Decision, Event } from '../../src/governor/events.ts';
import { drive } from './drive.ts';

const page = readFileSync('docs/governor.md', 'utf8');
const drawings = [...page.matchAll(/```mermaid\n(.*?)```/gs)].map(([, drawn = '']) => drawn);
const [chart = '', ...machines] = drawings;

/** What closes a gate, in the order of the drawing. */
const reasonsByGate = [...chart.matchAll(/^ +\w+Gate -\. "(.*)" \.-> wait$/gm)].map(([, drawn = '']) =>
  drawn.split(', '),
);
/** The gates on the way from `ask` to `go`, and those that lead to `wait`. */
const way = [...new Set([...chart.matchAll(/(\w+Gate)(?= --)/g)].map(([, gate]) => gate))];
const closing = [...chart.matchAll(/(\w+Gate)(?= -\.)/g)].map(([, gate]) => gate);
/** The events that the arrows of the state machines begin with: `trigger, trigger / effect`. */
const triggers = machines
  .flatMap((drawn) => [...drawn.matchAll(/ --> \w+: (.*)$/gm)].map(([, label = '']) => label))
  .flatMap((label) => (label.split(' / ')[0] ?? '').split(', '))
  .map((trigger) => trigger.split(' ')[0]);

type Refusal = Extract<Decision, { refused: unknown }>['refused'];
// The compiler sees to it that none is left out.
const events: Record<Event['type'], true> = {
  start: true,
  gone: true,
  ask: true,
  answer: true,
  lost: true,
  release: true,
  key: true,
  clock: true,
};
const reasons: Record<Exclude<WaitReason, 'shutdown'> | Refusal, true> = {
  rate: true,
  quota: true,
  reserve: true,
  retry_after: true,
  concurrency: true,
  key_refused: true,
  unavailable: true,
  forbidden: true,
};

describe('the drawing of the governor', () => {
  test('shows every reason to wait, and no other', () => {
    expect(new Set(reasonsByGate.flat())).toEqual(new Set(Object.keys(reasons)));
  });

  test('shows every event, and no other', () => {
    expect(new Set(triggers)).toEqual(new Set(Object.keys(events)));
  });

  test('shows the gates in the order in which they refuse', () => {
    const machine = drive();
    const given = () => {
      const decision = machine.ask();
      return 'wait' in decision ? decision.wait.reason : 'refused' in decision ? decision.refused : 'go';
    };
    // Each step closes one gate more, from the last to the first.
    const closings = [
      () => machine.call(),
      () => {
        for (let call = 0; call < 2; call += 1) {
          machine.pass(1_000);
          machine.ask('news', 'another');
        }
      },
      () => machine.answer({ limit: 30, remaining: 1 }),
      () => machine.answer({ status: 429, retryAfterMs: 5_000 }),
      () => machine.answer({ status: 503 }),
      () => machine.answer({ status: 401 }),
    ];
    const refusals = closings.map((close) => {
      close();
      return given();
    });
    expect(refusals.map((reason) => reasonsByGate.findLastIndex((drawn) => drawn.includes(reason)))).toEqual([
      5, 4, 3, 2, 1, 0,
    ]);
    expect(closing).toEqual(way);
  });
});
