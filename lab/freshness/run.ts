/** The real planner in one world, under one quota: what became of the copy. Time is virtual, and a call takes a quarter of a second. */

import { DAY_MS, HOUR_MS, isoTime } from '../../src/clock.ts';
import { FULL_WALK_EVERY_MS } from '../../src/mirror.ts';
import { learn, MAX_GLANCES, type Walk } from '../../src/plan/facts.ts';
import { type JobPlan, type PlannedJob, planUntilMore } from '../../src/plan/spacing.ts';
import { nextTurn, plannedForMs, type Turn } from '../../src/plan/turn.ts';
import { plannedJob } from '../../src/plan.ts';
import { isMuchShorter } from '../../src/store/retire.ts';
import { isProof } from '../../src/store/sql.ts';
import { beginning, type Checkpoint, PAGE_ROWS, type PageFacts } from '../../src/walk/checkpoint.ts';
import { type Previous, type WalkEnd, type WalkKind, walk } from '../../src/walk.ts';
import { mean, sum } from '../figures.ts';
import {
  CALL_MS,
  chances,
  createDataset,
  createMeasures,
  createPool,
  type Dataset,
  type Measures,
  type Pool,
  type Quota,
  type Row,
  type Spec,
  type World,
} from './worlds.ts';

/** Between the first ticks of datasets that are due together. */
const STAGGER_MS = 200;

/** What is measured of each dataset of the world. */
export type Outcome = {
  world: World;
  quota: Quota;
  /** The most that were made in one period of the quota. */
  mostCalls: number;
  sets: readonly Mirrored[];
};

type Job = Mirrored & {
  firstTick: number;
  /** When it acts next. */
  at: number;
  look: Look | undefined;
};

export async function run(world: World, quota: Quota, seed: number): Promise<Outcome> {
  const pool = createPool(quota);
  const random = chances(seed, world.specs.length);
  const jobs = world.specs.map((spec, index): Job => {
    const measures = createMeasures(world.from, world.to);
    const dataset = createDataset(spec, random[index] as () => number, world.begin, measures);
    const at = world.begin + index * STAGGER_MS;
    return { spec, measures, mirror: createMirror(dataset, measures), firstTick: at, at, look: undefined };
  });
  const calls = new Map<number, number>();
  const turnOf = follow(jobs, pool);

  for (let job = soonest(jobs); job.at < world.to; job = soonest(jobs)) {
    const now = job.at;
    if (!job.look) {
      const { at, askAt, kind } = turnOf(job, now);
      if (at > now) {
        job.at = askAt;
        continue;
      }
      job.look = job.mirror.begin(kind, now);
    }
    if (!pool.take(now)) {
      job.at = pool.nextReset(now);
      continue;
    }
    const period = Math.floor(now / quota.periodMs);
    calls.set(period, (calls.get(period) ?? 0) + 1);
    const isOver = await job.look(now);
    job.at = isOver ? nextTick(job, now) : now + CALL_MS;
    if (isOver) job.look = undefined;
  }
  for (const { mirror } of jobs) mirror.close(world.to);
  return { world, quota, mostCalls: Math.max(...calls.values()), sets: jobs };
}

function soonest(jobs: readonly Job[]): Job {
  return jobs.reduce((first, other) => (other.at < first.at ? other : first));
}

/** Ticks that come while a run is queued or under way come to nothing. */
function nextTick({ firstTick, spec }: Job, now: number): number {
  return firstTick + Math.ceil((now + CALL_MS - firstTick) / spec.targetMs) * spec.targetMs;
}

/** What the dataset runs next. */
type TurnOf = (job: Mirrored, now: number) => Turn;

type Plan = {
  until: number;
  /** When more calls come. */
  moreAt: number;
  paces: Map<string, JobPlan>;
  /** The last walks that it knows of. */
  walkedAt: Map<Mirrored, number | null>;
};

function follow(jobs: readonly Mirrored[], pool: Pool): TurnOf {
  const knowledge = jobs.map(({ spec, mirror }) => createKnowledge(spec, mirror));
  let plan: Plan | undefined;

  /** Made anew with each walk, too, since it may learn from it. */
  function planAt(now: number, job: Mirrored) {
    if (plan && now < plan.until && plan.walkedAt.get(job) === job.mirror.last().walkedAt) return plan;
    const budget = pool.budget(now);
    const known = knowledge.flatMap((of) => of(now) ?? []);
    const planned = planUntilMore(known, { budget, perSecond: null, spending: 'full' }).jobs;
    plan = {
      until: now + plannedForMs(budget.nextInMs),
      moreAt: now + budget.nextInMs,
      paces: new Map(known.map(({ name }, at) => [name, planned[at] as JobPlan])),
      walkedAt: new Map(jobs.map((job) => [job, job.mirror.last().walkedAt])),
    };
    return plan;
  }

  return (job, now) => {
    const { spec, mirror } = job;
    const { moreAt, paces } = planAt(now, job);
    const planned = paces.get(spec.name);
    const intervals = planned && {
      everySeconds: planned.everyMs / 1_000,
      glanceEverySeconds: planned.glanceEveryMs && planned.glanceEveryMs / 1_000,
      waitsForMore: planned.waitsForMore,
    };
    const targetSeconds = spec.targetMs / 1_000;
    const schedule = { every: spec.targetMs };
    const facts = { schedule, targetSeconds, intervals: intervals ?? null, moreAt, ...mirror.last() };
    return nextTurn(facts, now);
  };
}

/** Undefined until a walk has ended. Made anew with each look that ends, and now and then. */
function createKnowledge(spec: Spec, { records }: Mirror): (now: number) => PlannedJob | undefined {
  let kept: { of: LookRecord | undefined; at: number; job: PlannedJob | undefined } | undefined;
  return (now) => {
    const [latest] = records;
    if (!kept || kept.of !== latest || now - kept.at > HOUR_MS)
      kept = { of: latest, at: now, job: knownJob(spec, records, now) };
    return kept.job;
  };
}

function knownJob(spec: Spec, records: readonly LookRecord[], now: number): PlannedJob | undefined {
  const walks = records.filter(({ kind }) => kind === 'walk');
  const glances = records.filter(({ kind }) => kind === 'glance');
  const lastWalk = walks.find(({ isWhole }) => isWhole)?.id ?? 0;
  const learnt = learn(
    walks,
    {
      calls: glances.length > 0 ? mean(glances.slice(0, MAX_GLANCES).map(({ calls }) => calls)) : null,
      brought: sum(glances.map(({ id, inserted }) => (id > lastWalk ? inserted : 0))),
      lastBefore: glances.find(({ id }) => id < lastWalk)?.id ?? 0,
    },
    now,
  );
  const { name, weight, targetMs } = spec;
  const asked = { name, weight, runs: DAY_MS / targetMs, longestMs: targetMs };
  const facts = { ...learnt, callMs: CALL_MS };
  return plannedJob({ ...asked, drawsOnQuota: true, state: 'planned', facts });
}

/** Makes one call of a walk or a glance under way; resolves to true where it was the last one. */
type Look = (now: number) => Promise<boolean>;

export type Mirrored = { spec: Spec; measures: Measures; mirror: Mirror };

export type Mirror = {
  begin(kind: WalkKind, now: number): Look;
  /** What has ended, the latest first. */
  readonly records: readonly LookRecord[];
  /** When the last walk and the last look of either kind began; null before the first. */
  last(): { walkedAt: number | null; lookedAt: number | null };
  /** The time is over: what is late by then counts with the delay that it has. */
  close(now: number): void;
};

/** A walk or a glance that has ended, as a row of `walks` tells of it. */
type LookRecord = Walk & { kind: WalkKind; updated: number; deleted: number };

const MOST_RECORDS = 1_000;

function createMirror(dataset: Dataset, measures: Measures): Mirror {
  const held = new Set<Row>();
  /** Those that the last proof did not show. */
  const unproven = new Set<Row>();
  /** So many rows did the last proof meet. */
  let metBefore = 0;
  const records: LookRecord[] = [];
  let passes = 0;
  let looks = 0;
  /** What glances have brought since the last walk. */
  let glanced = 0;
  let last: ReturnType<Mirror['last']> = { walkedAt: null, lookedAt: null };
  let before: { checkpoint: Checkpoint; record: LookRecord } | undefined;

  function previous(now: number): Previous | undefined {
    if (!before) return undefined;
    const { checkpoint, record } = before;
    const isRecent = now - Date.parse(record.startedAt) < FULL_WALK_EVERY_MS;
    const isProven = record.verdict === 'snapshot' && record.pages > 1;
    return { checkpoint, allowsRenewal: isProven && isRecent && unproven.size === 0, isComplete: true };
  }

  /** The rows that no page of this pass has shown leave the mirror, or wait for the next proof, as `retire.ts` has it. */
  function retire(pass: number, verdict: WalkEnd['verdict'], now: number): number {
    const unmet = [...held].filter(({ copy }) => copy.metIn !== pass);
    const met = held.size - unmet.length;
    const isFirstEnough = verdict === 'snapshot' && !isMuchShorter(metBefore, met);
    const removed = unmet.filter((row) => isFirstEnough || unproven.has(row));
    for (const row of unmet) unproven.add(row);
    for (const row of removed) remove(row, now);
    metBefore = met;
    return removed.length;
  }

  function remove(row: Row, now: number): void {
    measures.removed(row, now);
    unproven.delete(row);
    held.delete(row);
    row.copy.isHeld = false;
  }

  function begin(kind: WalkKind, startedAt: number): Look {
    const look = ++looks;
    const counts = { inserted: 0, updated: 0 };
    let calls = 0;
    let pass = ++passes;
    let now = startedAt;
    let shown: Row[] = [];

    const read = async (offset: number): Promise<PageFacts> => {
      dataset.advance(now);
      shown = dataset.rows.slice(offset, offset + PAGE_ROWS);
      const total = dataset.rows.length;
      const returned = shown.length;
      return {
        offset,
        generatedAt: dataset.generatedAt,
        received: returned,
        keys: shown.map(({ key }) => key),
        met: shown.map(({ copy }) => copy.metIn === pass),
        known: shown.map(({ copy }) => copy.isHeld && copy.changedIn !== look),
        // Nothing changes but what is published.
        digest: offset === 0 ? dataset.generatedAt : undefined,
        pagination: { offset, limit: PAGE_ROWS, total, returned, hasMore: offset + returned < total },
      };
    };

    function save(row: Row): void {
      const { copy, unread } = row;
      if (copy.isHeld && unread.length === 0) return;
      measures.read(row, now);
      if (copy.isHeld) counts.updated += 1;
      else counts.inserted += 1;
      held.add(row);
      copy.isHeld = true;
      copy.changedIn = look;
      row.unread = [];
    }

    function end(checkpoint: Checkpoint, ending: WalkEnd): void {
      const { verdict, isRenewal, stuck } = ending;
      if (stuck) throw new Error(`${dataset.spec.name}: a walk that leads nowhere`);
      const proves = isProof(verdict);
      if (proves) measures.proved(startedAt, now);
      if (proves && !isRenewal) noteMissed();
      const deleted = proves && !isRenewal ? retire(pass, verdict, now) : 0;
      const record = recordOf(checkpoint, ending, deleted);
      records.unshift(record);
      last = { walkedAt: record.kind === 'walk' ? startedAt : last.walkedAt, lookedAt: startedAt };
      if (records.length > MOST_RECORDS) records.pop();
      if (verdict !== null && !isRenewal) before = { checkpoint, record };
    }

    /** What was there from the beginning to the end must have been met. */
    function noteMissed(): void {
      for (const { cameAt, copy } of dataset.rows)
        if (cameAt <= startedAt && copy.metIn !== pass) measures.missedInProofs += 1;
    }

    function recordOf(at: Checkpoint, { verdict, isRenewal }: WalkEnd, deleted: number): LookRecord {
      const { pages, newInHead, newAtTail, newElsewhere, generatedAt } = at;
      const isGlance = verdict === null;
      const record: LookRecord = {
        kind: isGlance ? 'glance' : 'walk',
        id: look,
        startedAt: isoTime(startedAt),
        pages,
        calls,
        verdict: verdict ?? '',
        isWhole: isRenewal ? 0 : 1,
        isPublished: verdict === 'snapshot' || (verdict === 'union' && generatedAt !== undefined) ? 1 : 0,
        hasChanged: counts.inserted + counts.updated + deleted > 0 ? 1 : 0,
        ...counts,
        deleted,
        newInHead,
        newAtTail,
        newElsewhere,
        glanced: isGlance ? 0 : glanced,
      };
      glanced = isGlance ? glanced + counts.inserted : 0;
      return record;
    }

    const pages = walk(read, beginning, previous(startedAt), kind);
    return async (at) => {
      now = at;
      calls += 1;
      measures.call(kind, at);
      const { value } = await pages.next();
      if (!value) throw new Error(`${dataset.spec.name}: a walk without an end`);
      if (value.metRows === 'clear') pass = ++passes;
      for (const row of shown) {
        save(row);
        unproven.delete(row);
        if (value.metRows === 'add') row.copy.metIn = pass;
      }
      if (value.end) end(value.checkpoint, value.end);
      return value.end !== undefined;
    };
  }

  return {
    begin,
    records,
    last: () => last,
    close(now) {
      dataset.advance(now);
      measures.close(dataset.rows, held);
    },
  };
}
