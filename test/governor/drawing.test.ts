/** docs/dev/governor.md draws the governor. The drawings are read as data here, and each gate and arrow is driven. */

import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { WaitReason } from '../../src/errors.ts';
import type { Decision, Event } from '../../src/governor/state.ts';
import { drive } from './drive.ts';

const DAY = 86_400_000;
const page = readFileSync('docs/dev/governor.md', 'utf8');

// The compiler sees to it that none is left out.
type Refusal = Extract<Decision, { refused: unknown }>['refused'];
const reasons: Record<Exclude<WaitReason, 'shutdown' | 'account' | 'unreachable'> | Refusal, true> = {
  rate: true,
  quota: true,
  reserve: true,
  retry_after: true,
  concurrency: true,
  key_refused: true,
  unavailable: true,
  blocked: true,
  forbidden: true,
};
const events: Record<Event['type'], true> = {
  start: true,
  gone: true,
  ask: true,
  response: true,
  lost: true,
  release: true,
  holds: true,
  key: true,
  clock: true,
};

describe('the seven gates', () => {
  /** The reasons of each gate, in the order of the table. */
  const drawn = [...page.matchAll(/^\| \w+ \| is open.*\n\|[-|]+\n(?<rows>(\|.*\n)+)/gm)]
    .flatMap(({ groups }) => groups?.['rows']?.trim().split('\n') ?? [])
    .map((row) => [...(row.split('|').at(-2) ?? '').matchAll(/`(\w+)`/g)].map(([, reason]) => reason));

  test('give every reason to wait, and no other', () => {
    expect(new Set(drawn.flat())).toEqual(new Set(Object.keys(reasons)));
  });

  test('are met in the order of the table', () => {
    const machine = drive();
    // Each closes one gate more, from the last to the first.
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
      () => machine.answer({ status: 403 }),
      () => machine.answer({ status: 401 }),
    ];
    for (const [index, close] of closings.entries()) {
      close();
      const decision = machine.ask();
      const reason =
        'wait' in decision ? decision.wait.reason : 'refused' in decision ? decision.refused : '';
      expect(drawn.at(-1 - index)).toContain(reason);
    }
  });
});

type Machine = ReturnType<typeof drive>;

/** How a state is reached; `open`, `probing` and `well` with a call of `news` under way. */
const reach: Record<string, (machine: Machine) => void> = {
  open(machine) {
    for (let call = 0; call < 40; call += 1) machine.call({ inFlight: 4 });
    machine.pass(1_000);
    machine.ask();
  },
  paused(machine) {
    reach['open']?.(machine);
    machine.answer({ status: 429 });
  },
  probing(machine) {
    reach['paused']?.(machine);
    untilGo(machine);
  },
  refused(machine) {
    reach['open']?.(machine);
    machine.answer({ status: 401 });
  },
  well(machine) {
    reach['open']?.(machine);
  },
  outage(machine) {
    reach['open']?.(machine);
    machine.answer({ status: 503 });
  },
  forbidden(machine) {
    reach['open']?.(machine);
    machine.answer({ status: 403 });
  },
};

/** What the arrows bear. */
const triggers: Record<string, (machine: Machine, from: string) => void> = {
  ask: untilGo,
  'response 2xx'(machine, from) {
    if (from === 'outage' || from === 'forbidden') untilGo(machine);
    machine.answer();
  },
  ...Object.fromEntries(
    [401, 403, 408, 425, 429].map((status) => [
      `response ${status}`,
      (machine: Machine) => machine.answer({ status }),
    ]),
  ),
  'response 5xx'(machine) {
    machine.answer({ status: 502 });
  },
  'response blocked'(machine) {
    machine.answer({ status: 403, isBlocked: true });
  },
  release: ({ on }) => on({ type: 'release', owner: 'me', permits: 1 }),
  holds: ({ on }) => on({ type: 'holds', owner: 'me', permits: 1, maxInFlight: 1, inFlight: 1 }),
  lost: ({ on }) => on({ type: 'lost', owner: 'me', job: 'news', roll: 0.5 }),
  gone: ({ on }) => on({ type: 'gone', owner: 'me' }),
  clock: ({ on }) => on({ type: 'clock' }),
  key: ({ on }) => on({ type: 'key' }),
  start: ({ on }) => on({ type: 'start', owner: 'another', again: true }),
};

/** Asks for `news` until a call goes, however long that takes. */
function untilGo(machine: Machine): void {
  for (let decision = machine.ask(); !('permits' in decision); decision = machine.ask())
    machine.pass('wait' in decision ? Math.max(1, decision.wait.until - machine.now) : DAY);
}

/** In which state all calls are, as two processes find that ask now: it changes nothing. */
function account({ state, now }: Machine): string {
  const { ask, pass, shown } = drive(state, now);
  if (shown.waits.some(({ job, reason }) => job === null && reason !== 'key_refused')) return 'paused';
  pass(1_000);
  const first = ask('usage', 'one');
  if ('refused' in first) return 'refused';
  if ('wait' in first) return 'probing';
  pass(1_000);
  return 'permits' in ask('meme-signals', 'two') ? 'open' : 'paused';
}

/** In which state the endpoint of `news` is. */
function endpoint({ state, now }: Machine): string {
  const decision = drive(state, now).ask();
  if ('refused' in decision) return 'forbidden';
  return 'wait' in decision && /^(unavailable|blocked)$/.test(decision.wait.reason) ? 'outage' : 'well';
}

describe.each([
  ['of all calls', account],
  ['of one endpoint', endpoint],
])('the states %s', (name, stateOf) => {
  const drawing = [...page.matchAll(/```mermaid\nstateDiagram-v2\n(.*?)```/gs)][
    name === 'of all calls' ? 0 : 1
  ];
  const arrows = [...(drawing?.[1] ?? '').matchAll(/^ +(\w+) --> (\w+): (.*)$/gm)].flatMap(
    ([, from = '', to = '', labels = '']) => labels.split(', ').map((label) => [from, label, to] as const),
  );

  test.each(arrows)('%s: %s → %s', (from, label, to) => {
    const machine = drive();
    reach[from]?.(machine);
    expect(stateOf(machine)).toBe(from);
    triggers[label]?.(machine, from);
    expect(stateOf(machine)).toBe(to);
  });
});

test('every event is on an arrow', () => {
  const drawn = [...page.matchAll(/ --> \w+: (.*)$/gm)].flatMap(([, labels = '']) => labels.split(', '));
  expect(new Set(drawn.map((label) => label.split(' ')[0]))).toEqual(new Set(Object.keys(events)));
});
