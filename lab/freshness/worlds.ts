/** The worlds: datasets as the figures have them, what makes a head worthless, and quotas. */

import { DAY_MS, HOUR_MS, type Random } from '../../src/clock.ts';
import type { Budget } from '../../src/plan/spacing.ts';
import { seededRandom } from '../simulate/clock.ts';

export type World = {
  name: string;
  specs: readonly Spec[];
  /** Time before what is measured: the mirror learns. Then what is measured, and the end. */
  begin: number;
  from: number;
  to: number;
};

export type Quota = { name: string; limit: number; periodMs: number; reserve: number };

const MINUTE_MS = 60_000;
const never = Number.POSITIVE_INFINITY;
const begin = Date.UTC(2026, 0, 1);

/** The reserves are those of the governor, once it knows the period (`src/governor/quota-probe.ts`). */
export const quotas = {
  few: { name: '300 a day', limit: 300, periodMs: DAY_MS, reserve: 2 },
  scarce: { name: '1,000 a day', limit: 1_000, periodMs: DAY_MS, reserve: 4 },
  /** Hardly enough: the schedules of the usual world ask for some 2 % more. */
  hardly: { name: '1,000 an hour', limit: 1_000, periodMs: HOUR_MS, reserve: 4 },
  ample: { name: '1,200 an hour', limit: 1_200, periodMs: HOUR_MS, reserve: 4 },
} as const satisfies Record<string, Quota>;

const still: Omit<Spec, 'name' | 'targetMs' | 'weight' | 'rows'> = {
  newPerDay: 0,
  newAt: 'head',
  expires: false,
  editShare: 0,
  editWithinMs: HOUR_MS,
  gonePerDay: 0,
  editsPerDay: 0,
  editsMove: false,
  published: undefined,
  pinned: 0,
  turnsAt: never,
  purgedAt: never,
};

/** Newest first, the oldest expire, some are deleted. */
const news: Spec = {
  ...still,
  name: 'news',
  targetMs: 5 * MINUTE_MS,
  weight: 2,
  rows: 3_000,
  newPerDay: 200,
  expires: true,
  editShare: 0.1,
  editWithinMs: 2 * HOUR_MS,
  gonePerDay: 30,
};

/** Newest first, each changed once within the hour. */
const memeSignals: Spec = {
  ...still,
  name: 'meme-signals',
  targetMs: 2 * MINUTE_MS,
  weight: 2,
  rows: 1_000,
  newPerDay: 400,
  expires: true,
  editShare: 1,
};

/** Ranked: who changes moves. */
const smartWallets: Spec = {
  ...still,
  name: 'smart-wallets',
  targetMs: 15 * MINUTE_MS,
  weight: 1,
  rows: 3_000,
  newPerDay: 20,
  newAt: 'anywhere',
  gonePerDay: 20,
  editsPerDay: 500,
  editsMove: true,
};

/** Published whole. */
const aiSignals: Spec = {
  ...still,
  name: 'ai-signals',
  targetMs: 2 * MINUTE_MS,
  weight: 3,
  rows: 1_000,
  expires: true,
  published: { everyMs: 10 * MINUTE_MS, newRows: 5, editedRows: 50 },
};

/** One call, one row. */
const usage: Spec = { ...still, name: 'usage', targetMs: 15 * MINUTE_MS, weight: 1, rows: 1 };

const usual = { begin, from: begin + 4 * DAY_MS, to: begin + 18 * DAY_MS };

export const usualWorld: World = {
  ...usual,
  name: 'the usual',
  specs: [news, memeSignals, smartWallets, aiSignals, usage],
};

const failing = { begin, from: begin + 10 * DAY_MS, to: begin + 18 * DAY_MS };

function withNews(name: string, change: Partial<Spec>): World {
  return { ...failing, name, specs: [{ ...news, ...change }, memeSignals, smartWallets, aiSignals, usage] };
}

/** News, with what may make its head worthless. What happens on a day happens on the first that is measured. */
export const failures: readonly World[] = [
  withNews('as it is', {}),
  withNews('10 rows pinned', { pinned: 10 }),
  withNews('60 rows pinned', { pinned: 60 }),
  withNews('120 rows pinned', { pinned: 120 }),
  withNews('new at the tail', { newAt: 'tail' }),
  withNews('new anywhere', { newAt: 'anywhere' }),
  withNews('the order turns', { turnsAt: failing.from }),
  withNews('the order turns, none expire', { turnsAt: failing.from, expires: false, gonePerDay: 0 }),
  withNews('40 % purged', { purgedAt: failing.from }),
  withNews('2,000 new a day', { newPerDay: 2_000 }),
];

/** Each dataset of a world gets its own chance, so that what is asked of one changes nothing in the others. */
export function chances(seed: number, count: number): Random[] {
  const random = seededRandom(seed);
  return Array.from({ length: count }, () => seededRandom(Math.floor(random() * 2 ** 31)));
}

/** What a call takes. */
export const CALL_MS = 250;

export type Pool = {
  /** Takes one call; false where none is left before the reset. */
  take(now: number): boolean;
  nextReset(now: number): number;
  budget(now: number): Budget;
};

export function createPool({ limit, periodMs, reserve }: Quota): Pool {
  const perPeriod = limit - reserve;
  let [period, used] = [-1, 0];
  const turn = (now: number) => {
    const current = Math.floor(now / periodMs);
    if (current !== period) [period, used] = [current, 0];
  };
  const nextReset = (now: number) => (Math.floor(now / periodMs) + 1) * periodMs;
  return {
    nextReset,
    take(now) {
      turn(now);
      if (used >= perPeriod) return false;
      used += 1;
      return true;
    },
    budget(now) {
      turn(now);
      return { remaining: perPeriod - used, nextInMs: nextReset(now) - now, perPeriod, periodMs };
    },
  };
}

export type Spec = {
  name: string;
  /** What its schedule asks for, and how much it counts. */
  targetMs: number;
  weight: number;
  rows: number;
  newPerDay: number;
  newAt: Position;
  /** A row that comes pushes the oldest one out. */
  expires: boolean;
  /** Part of the new rows that are changed once more, within so long. */
  editShare: number;
  editWithinMs: number;
  /** Any row, anywhere. */
  gonePerDay: number;
  editsPerDay: number;
  /** A changed row moves to another place. */
  editsMove: boolean;
  /** All that changes comes at once, and the list says when: `generatedAt`. */
  published: { everyMs: number; newRows: number; editedRows: number } | undefined;
  /** So many rows stay at the head. */
  pinned: number;
  /** From then on new rows come at the other end. */
  turnsAt: number;
  /** Then two rows of five go at once. */
  purgedAt: number;
};

export type Position = 'head' | 'tail' | 'anywhere';

export type Dataset = {
  readonly spec: Spec;
  readonly rows: readonly Row[];
  readonly generatedAt: string | undefined;
  /** Lets time pass: whatever is due by then happens. */
  advance(to: number): void;
};

const PURGED_PART = 0.4;

export function createDataset(spec: Spec, random: Random, begin: number, measures: Measures): Dataset {
  const { published, pinned } = spec;
  const rows: Row[] = [];
  /** Changes of new rows to come, the soonest first. */
  const planned: { at: number; row: Row }[] = [];
  const after = (perDay: number, now: number) =>
    perDay > 0 ? now - Math.log(1 - random()) * (DAY_MS / perDay) : Number.POSITIVE_INFINITY;
  const due = {
    new: after(spec.newPerDay, begin),
    gone: after(spec.gonePerDay, begin),
    edit: after(spec.editsPerDay, begin),
    publish: published ? begin + random() * published.everyMs : Number.POSITIVE_INFINITY,
    purge: spec.purgedAt,
  };
  let made = 0;
  let generatedAt = published && new Date(begin).toISOString();

  const dataset: Dataset = {
    spec,
    rows,
    get generatedAt() {
      return generatedAt;
    },
    advance(to) {
      for (let at = soonest(); at <= to; at = soonest()) {
        measures.count(rows.length, at);
        happen(at);
      }
      measures.count(rows.length, to);
    },
  };
  while (rows.length < spec.rows) rows.push(make(begin));
  return dataset;

  function soonest(): number {
    const next = Math.min(due.new, due.gone, due.edit, due.publish, due.purge);
    return Math.min(next, planned[0]?.at ?? Number.POSITIVE_INFINITY);
  }

  function happen(at: number): void {
    const [next] = planned;
    if (next?.at === at) {
      planned.shift();
      edit(rows.indexOf(next.row), at);
    } else if (due.new === at) {
      insert(at);
      due.new = after(spec.newPerDay, at);
    } else if (due.gone === at) {
      remove(anyRow(), at);
      due.gone = after(spec.gonePerDay, at);
    } else if (due.edit === at) {
      editAny(at);
      due.edit = after(spec.editsPerDay, at);
    } else if (due.publish === at) {
      publish(at);
    } else {
      for (let left = Math.floor(rows.length * PURGED_PART); left > 0; left -= 1) remove(anyRow(), at);
      due.purge = Number.POSITIVE_INFINITY;
    }
  }

  function make(at: number): Row {
    made += 1;
    const copy = { isHeld: false, changedIn: 0, metIn: 0 };
    return { key: `${spec.name} ${made}`, cameAt: at, goneAt: Number.POSITIVE_INFINITY, unread: [], copy };
  }

  function below(count: number): number {
    return Math.floor(random() * count);
  }

  function anyRow(): number {
    return pinned + below(rows.length - pinned);
  }

  function positionAt(now: number): Position {
    if (now < spec.turnsAt || spec.newAt === 'anywhere') return spec.newAt;
    return spec.newAt === 'head' ? 'tail' : 'head';
  }

  function insert(at: number): void {
    const row = make(at);
    const place = positionAt(at);
    const index = { head: pinned, tail: rows.length, anywhere: below(rows.length + 1) }[place];
    rows.splice(index, 0, row);
    if (random() < spec.editShare) plan(row, at + random() * spec.editWithinMs);
    if (spec.expires && rows.length > spec.rows) remove(place === 'tail' ? pinned : rows.length - 1, at);
  }

  function plan(row: Row, at: number): void {
    const later = planned.findIndex((other) => other.at > at);
    planned.splice(later < 0 ? planned.length : later, 0, { at, row });
  }

  function edit(index: number, at: number): void {
    const row = rows[index];
    if (!row) return;
    row.unread.push(at);
  }

  function editAny(at: number): void {
    const index = anyRow();
    edit(index, at);
    if (spec.editsMove) rows.splice(below(rows.length), 0, ...rows.splice(index, 1));
  }

  function remove(index: number, at: number): void {
    const [row] = rows.splice(index, 1);
    if (!row) return;
    row.goneAt = at;
    measures.left(row);
    row.unread = [];
  }

  function publish(at: number): void {
    if (!published) return;
    generatedAt = new Date(at).toISOString();
    due.publish = at + published.everyMs;
    for (let left = published.editedRows; left > 0; left -= 1) editAny(at);
    for (let left = published.newRows; left > 0; left -= 1) insert(at);
  }
}

export type Row = {
  readonly key: string;
  readonly cameAt: number;
  /** Infinite while it is there. */
  goneAt: number;
  /** When it changed since the mirror last read it. */
  unread: number[];
  /** What the mirror keeps of it. */
  copy: Copy;
};

type Copy = {
  isHeld: boolean;
  /** The look that changed it last. */
  changedIn: number;
  /** The pass that met it last. */
  metIn: number;
};

export type Kind = 'new' | 'edited' | 'gone';

export type Measures = {
  /** From the change upstream to the mirror, of each change of the time that is measured. */
  readonly delays: Record<Kind, number[]>;
  /** Row-milliseconds: rows not there yet, older than upstream, and gone upstream; and all that there are. */
  readonly wrong: { missing: number; stale: number; extra: number; rows: number };
  /** Age of the latest proof, its mean over the time that is measured. */
  proofAge(): number;
  /** Rows that were removed though they were there, and rows there throughout a proof that it had not met. */
  falselyRemoved: number;
  missedInProofs: number;
  /** Calls of the time that is measured, by what they were made for. */
  readonly calls: { walk: number; glance: number };
  /** Minus infinity where there was none. */
  lastGlanceAt: number;

  call(kind: 'walk' | 'glance', now: number): void;
  /** There are so many rows until now. */
  count(rows: number, now: number): void;
  /** The mirror has read the row; before its copy says so. */
  read(row: Row, now: number): void;
  /** It is gone upstream; before what was unread of it is forgotten. */
  left(row: Row): void;
  removed(row: Row, now: number): void;
  proved(startedAt: number, now: number): void;
  /** What is late when the time is over counts with the delay that it has by then. */
  close(rows: readonly Row[], held: Iterable<Row>): void;
};

/** Only what happens from `from` to `to` counts. */
export function createMeasures(from: number, to: number): Measures {
  const delays: Record<Kind, number[]> = { new: [], edited: [], gone: [] };
  const wrong = { missing: 0, stale: 0, extra: 0, rows: 0 };
  const within = (at: number) => at >= from && at < to;
  const overlap = (begin: number, end: number) => Math.max(0, Math.min(end, to) - Math.max(begin, from));
  const note = (kind: Kind, at: number, now: number) => {
    if (within(at)) delays[kind].push(now - at);
  };
  let countedAt = from;
  let [provedAt, ageNotedAt, ageArea] = [from, from, 0];

  function noteAge(now: number): void {
    const end = Math.min(now, to);
    if (end <= ageNotedAt) return;
    ageArea += (end - ageNotedAt) * ((ageNotedAt + end) / 2 - provedAt);
    ageNotedAt = end;
  }

  const measures: Measures = {
    delays,
    wrong,
    falselyRemoved: 0,
    missedInProofs: 0,
    calls: { walk: 0, glance: 0 },
    lastGlanceAt: Number.NEGATIVE_INFINITY,
    proofAge: () => ageArea / (to - from),
    call(kind, now) {
      if (within(now)) measures.calls[kind] += 1;
      if (kind === 'glance') measures.lastGlanceAt = now;
    },
    count(rows, now) {
      wrong.rows += rows * overlap(countedAt, now);
      countedAt = Math.max(countedAt, now);
    },
    read(row, now) {
      const { copy, cameAt, unread } = row;
      if (!copy.isHeld) {
        note('new', cameAt, now);
        wrong.missing += overlap(cameAt, now);
      } else if (unread.length > 0) {
        wrong.stale += overlap(unread[0] as number, now);
      }
      for (const at of unread) note('edited', at, now);
    },
    left({ copy, cameAt, goneAt, unread }) {
      if (!copy.isHeld) wrong.missing += overlap(cameAt, goneAt);
      else if (unread.length > 0) wrong.stale += overlap(unread[0] as number, goneAt);
    },
    removed({ goneAt }, now) {
      if (goneAt > now) {
        measures.falselyRemoved += 1;
        return;
      }
      note('gone', goneAt, now);
      wrong.extra += overlap(goneAt, now);
    },
    proved(startedAt, now) {
      noteAge(now);
      provedAt = startedAt;
    },
    close(rows, held) {
      noteAge(to);
      for (const row of rows) if (!row.copy.isHeld || row.unread.length > 0) measures.read(row, to);
      for (const row of held) if (row.goneAt < to) measures.removed(row, to);
    },
  };
  return measures;
}
