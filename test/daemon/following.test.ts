import { expect, onTestFinished, test } from 'vitest';
import { isoTime, systemClock } from '../../src/base/clock.ts';
import { Failure } from '../../src/base/errors.ts';
import { keepFollowing } from '../../src/daemon/following.ts';
import type { SinkNote } from '../../src/reading/status.ts';
import type { Arrival, FollowRequest } from '../../src/sinks.ts';

const pauses = { firstMs: 8, longestMs: 32, hopelessMs: 77 };

const arrived = (job: string, to: number): Arrival => ({ job, to, problems: [], failure: null });

/**
 * A target that answers so, one time after the other, and well in the end or where no answer is given; time stands still but
 * for pauses.
 */
function follow(
  answers: readonly (Failure | readonly Arrival[] | undefined)[],
  sleep: (ms: number, signal?: AbortSignal) => Promise<unknown> = systemClock.sleep,
  everyMs = 0,
) {
  const asked: FollowRequest[] = [];
  const notes: SinkNote[] = [];
  const said: string[] = [];
  const hear = (_: unknown, text: string) => void said.push(text);
  const following = keepFollowing({
    thread: {
      async call(question) {
        const answer = answers[asked.push(question) - 1];
        if (answer instanceof Failure) throw answer;
        return { arrivals: answer ?? question.only.map((job) => arrived(job, 9)) };
      },
      close: () => undefined,
    },
    words: { goesOn: 'it goes on', fails: 'nothing arrives', lacks: 'not all arrives' },
    jobs: ['ai-signals', 'news'],
    everyMs,
    clock: { ...systemClock, now: () => 0, sleep: async (ms, signal) => void (await sleep(ms, signal)) },
    random: () => 1,
    log: { info: hear, warn: hear } as never,
    note: (note) => void notes.push(structuredClone(note)),
    pauses,
  });
  onTestFinished(following.end);
  const waits = () => notes.map(({ trouble }) => trouble && Date.parse(trouble.nextTry));
  return { ...following, asked, notes, said, waits };
}

test('whatever keeps changes from a target, it is told once, tried again after longer pauses, and all is brought', async () => {
  const full = new Failure('disk', 'Postgres has no room left on its disk');
  const { notes, said, asked, waits } = follow([full, full, full, full]);
  await expect.poll(() => notes.at(-1)?.trouble).toBeNull();
  expect(waits()).toEqual([8, 16, 32, 32, null]);
  expect(asked.map(({ only }) => only)).toEqual(Array(5).fill(['ai-signals', 'news']));
  expect(said).toEqual([`nothing arrives: ${full.message}; mirroring goes on`, 'it goes on']);
  expect(notes[0]).toEqual({
    seqs: {},
    trouble: { message: full.message, since: isoTime(0), nextTry: isoTime(8) },
  });
  expect(notes.at(-1)?.seqs).toEqual({ 'ai-signals': 9, news: 9 });
});

test('what somebody has to mend first is not tried again soon', async () => {
  const { notes, waits } = follow([new Failure('config', 'follows another mirror')]);
  await expect.poll(() => notes.at(-1)?.trouble).toBeNull();
  expect(waits()).toEqual([77, null]);
});

test('a dataset that did not arrive is brought again by itself, and a column that could not is named', async () => {
  const failure = { kind: 'incomplete', message: 'is busy' } as const;
  const { notes, said, asked, due } = follow([
    [
      { job: 'ai-signals', to: null, problems: [], failure },
      { job: 'news', to: 7, problems: ['news.strength cannot be text'], failure: null },
    ],
  ]);
  await expect.poll(() => notes.at(-1)?.trouble).toBeNull();
  expect(asked.map(({ only }) => only)).toEqual([['ai-signals', 'news'], ['ai-signals']]);
  expect(said).toContain('not all arrives: news.strength cannot be text');
  expect(notes.at(-1)?.seqs).toEqual({ 'ai-signals': 9, news: 7 });
  due('news');
  await expect.poll(() => asked.at(-1)?.only).toEqual(['news']);
});

test('a dataset that a target refuses delays no other: what comes of another meanwhile is brought at once', async () => {
  const failure = { kind: 'config', message: 'its receipt is damaged' } as const;
  const refused: Arrival = { job: 'news', to: null, problems: [], failure };
  const rests: (() => void)[] = [];
  const { notes, said, asked, due } = follow(
    [[arrived('ai-signals', 1), refused], undefined, [refused], undefined],
    (ms) => new Promise((resolve) => void rests.push(() => resolve(ms))),
  );
  await expect.poll(() => notes.at(-1)?.trouble?.message).toBe(failure.message);
  // While it rests, nobody wakes it: the rest of the other dataset is its own.
  due('ai-signals');
  await expect.poll(() => asked.map(({ only }) => only)).toEqual([['ai-signals', 'news'], ['ai-signals']]);
  await expect.poll(() => notes.at(-1)?.seqs).toEqual({ 'ai-signals': 9 });
  expect(notes.at(-1)?.trouble?.message).toBe(failure.message);
  due('news');
  rests.shift()?.();
  await expect.poll(() => asked.length).toBe(3);
  expect(asked.at(-1)?.only).toEqual(['news']);
  await expect.poll(() => rests.length).toBe(1);
  rests.shift()?.();
  await expect.poll(() => notes.at(-1)?.trouble).toBeNull();
  expect(asked.map(({ only }) => only).slice(2)).toEqual([['news'], ['news']]);
  expect(said).toEqual([`nothing arrives: ${failure.message}; mirroring goes on`, 'it goes on']);
});

/** Sleeps that end when a test says so: `rests` has their lengths, `end` ends the first of a length. */
function restsUntilEnded() {
  const open: { ms: number; end: () => void }[] = [];
  const sleep = (ms: number, signal?: AbortSignal) =>
    new Promise((resolve) => {
      open.push({ ms, end: () => resolve(ms) });
      signal?.addEventListener('abort', resolve);
    });
  const end = (ms: number) => {
    const at = open.findIndex((rest) => rest.ms === ms);
    open.splice(at, 1)[0]?.end();
  };
  return { rests: () => open.map(({ ms }) => ms), sleep, end };
}

test('a sink that is loaded rarely tries again when it said it would, and what has arrived rests meanwhile', async () => {
  const everyMs = 900_000;
  const refuse = (job: string): Arrival => ({
    ...{ job, to: null, problems: [] },
    failure: { kind: 'disk', message: 'the disk is full' },
  });
  const { rests, sleep, end } = restsUntilEnded();
  const { notes, asked, due } = follow(
    [undefined, [refuse('ai-signals'), refuse('news')], [arrived('ai-signals', 9), refuse('news')]],
    sleep,
    everyMs,
  );
  await expect.poll(rests).toEqual([everyMs]);
  for (const job of ['ai-signals', 'news']) due(job);
  end(everyMs);
  // Nothing has arrived: what failed of the same waits for the next try alone.
  await expect.poll(rests).toEqual([8]);
  expect(notes.at(-1)?.trouble?.nextTry).toBe(isoTime(8));
  end(8);
  await expect.poll(() => asked.length).toBe(3);
  await expect.poll(() => rests().toSorted()).toEqual([16, everyMs]);
  due('ai-signals');
  end(16);
  await expect.poll(() => asked.map(({ only }) => only).slice(3)).toEqual([['news']]);
});
