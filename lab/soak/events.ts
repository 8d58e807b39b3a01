/** What can happen to a mirror: upstream, to its machine, and by the hands of people. Random lives are made of these. */

import fc from 'fast-check';
import { type Edit, kinds } from './lists.ts';
import { type EnvelopeName, envelopes, type Fault, faults } from './upstream.ts';

/** What people do with a mirror, or another process does beside a run. */
export const tasks = ['retry', 'forget', 'backup', 'walk', 'glance'] as const;
export type Task = (typeof tasks)[number];

/** While a run waits for a response. `other`: another process does that. `kill`: nothing after this moment is on the disk. */
export type During =
  | Edit
  | { fault: Fault }
  | { heavy: number }
  | { unreadable: number }
  | { other: Task }
  | { jump: number }
  | { end: 'kill' | 'stop' };

/** While nothing runs. Hours and minutes are those of the clock. */
export type Step =
  | { run: 'walk' | 'glance'; during: readonly (readonly During[])[]; isAgain: boolean }
  | Edit
  | { task: Task }
  | { restore: true }
  | { upgrade: true }
  /** It becomes stricter, or milder again; then refused rows may be tried again. */
  | { contract: 'alone' | 'retry' }
  | { wait: number }
  | { jump: number }
  | { envelope: EnvelopeName }
  | { readable: true }
  | { hint: string }
  | { limits: string | undefined }
  | { quota: number | undefined }
  | { schedule: 'off' | 'every 1h' };

export type WholeLife = {
  kind: string;
  size: number;
  /** What the API makes of every limit. */
  pageRows: number;
  /** Whether a contract is the stricter one at first. */
  isStrict: boolean;
  steps: readonly Step[];
};

const place = fc.integer({ min: 0, max: 999 });
const count = fc.integer({ min: 1, max: 5 });
const minutes = fc.oneof(fc.integer({ min: 1, max: 90 }), fc.integer({ min: 60, max: 1_800 }));
const jump = fc.oneof(fc.integer({ min: -4_000, max: 4_000 }), fc.constantFrom(-5, 5));

const edit: fc.Arbitrary<Edit> = fc.oneof(
  fc.record({ edit: fc.constant('insert'), at: fc.oneof(fc.constant(0), place), count }),
  fc.record({ edit: fc.constant('remove'), at: place, count: fc.oneof(count, fc.constant(30)) }),
  fc.record({ edit: fc.constantFrom('bump', 'change', 'spoil'), at: place }),
  fc.record({ edit: fc.constant('twin'), at: place, to: place }),
  fc.constant({ edit: 'tick' }),
) as fc.Arbitrary<Edit>;

const during: fc.Arbitrary<During> = fc.oneof(
  { weight: 5, arbitrary: edit },
  { weight: 3, arbitrary: fc.record({ end: fc.constantFrom('kill', 'stop') }) },
  { weight: 2, arbitrary: fc.record({ fault: fc.constantFrom(...faults) }) },
  { weight: 2, arbitrary: fc.record({ other: fc.constantFrom(...tasks) }) },
  fc.record({ heavy: place }),
  fc.record({ unreadable: place }),
  fc.record({ jump }),
) as fc.Arbitrary<During>;

const calls = fc.array(
  fc.oneof(
    { weight: 1, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.array(during, { maxLength: 2 }) },
  ),
  { maxLength: 14 },
);

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.record({
      run: fc.constantFrom('walk', 'walk', 'glance'),
      during: calls,
      isAgain: fc.boolean(),
    }),
  },
  { weight: 4, arbitrary: edit },
  { weight: 4, arbitrary: fc.record({ task: fc.constantFrom('retry', 'forget', 'backup') }) },
  fc.constant({ restore: true }),
  fc.constant({ upgrade: true }),
  { weight: 3, arbitrary: fc.record({ contract: fc.constantFrom('alone', 'retry') }) },
  { weight: 2, arbitrary: fc.record({ wait: minutes }) },
  fc.record({ jump }),
  fc.record({ envelope: fc.constantFrom(...envelopes) }),
  fc.constant({ readable: true }),
  fc.record({ hint: fc.constantFrom('KEY', 'ROWS', 'VOLATILE') }),
  fc.record({ limits: fc.constantFrom(undefined, '4/1h', '40/1d', '200/1d@00:00') }),
  fc.record({ quota: fc.constantFrom(undefined, 3, 30) }),
  fc.record({ schedule: fc.constantFrom('off', 'every 1h') }),
) as fc.Arbitrary<Step>;

/** What people do while a walk waits: by chance alone, lives seldom have it on rows that the walk has met. */
const whilePaused: fc.Arbitrary<Step[]> = fc
  .record({
    spoiled: fc.array(place, { minLength: 1, maxLength: 3 }),
    calls: fc.integer({ min: 1, max: 4 }),
    end: fc.constantFrom('kill', 'stop'),
    does: fc.oneof(
      { weight: 3, arbitrary: fc.constant<Step>({ contract: 'retry' }) },
      fc.record({ task: fc.constantFrom('retry', 'forget', 'backup') }) as fc.Arbitrary<Step>,
      fc.constantFrom<Step>({ restore: true }, { upgrade: true }),
    ),
  })
  .map(({ spoiled, calls: before, end, does }) => [
    ...spoiled.map((at): Step => ({ edit: 'spoil', at })),
    { run: 'walk', during: [...Array.from({ length: before }, () => []), [{ end }]], isAgain: true } as Step,
    does,
    { run: 'walk', during: [], isAgain: true },
  ]);

const steps = (longest: number) =>
  fc
    .noBias(
      fc.array(
        fc.oneof(
          {
            weight: 12,
            arbitrary: step.map((one) => [one]),
          },
          { weight: 3, arbitrary: whilePaused },
        ),
        { minLength: 4, maxLength: longest },
      ),
    )
    .map((some) => some.flat());

export const wholeLives = (longest: number): fc.Arbitrary<WholeLife> =>
  fc
    .record({
      kind: fc.constantFrom(...Object.keys(kinds)),
      isLong: fc.nat(9).map((one) => one === 9),
      size: fc.noBias(fc.integer({ min: 0, max: 70 })),
      pageRows: fc.noBias(fc.integer({ min: 4, max: 20 })),
      isStrict: fc.boolean(),
      steps: steps(longest),
    })
    // Full pages of a published snapshot are requested in windows.
    .map(({ isLong, ...life }) => ({
      ...life,
      ...(isLong && { size: 60 + 9 * life.size, pageRows: 100 }),
    }));
