/** Random lives of a dataset while it is mirrored: what happens before each call, and how the mirror takes it. */

import fc from 'fast-check';
import { type Fault, faults, type Row } from '../../model-api/index.ts';
import { Failure, toError } from '../../src/errors.ts';
import type { WalkRow } from '../../src/store.ts';
import { bump, change, type Edit, insert, move, remove } from './edits.ts';
import { type Bench, openBench } from './mirror-bench.ts';
import { mirroredRows, upstreamColumns } from './truth.ts';

/** Places are per mille of the rows there are. */
export type Event =
  | { do: 'insert' | 'remove'; at: number; count: number }
  | { do: 'bump' | 'change'; at: number }
  | { do: 'move'; at: number; to: number }
  | { do: 'short page'; rows: number }
  | { do: 'empty page' | 'crash' | 'stop' }
  | { do: 'wait'; hours: number };

export type Scenario = {
  job: string;
  /** Whether every edit publishes a new `generatedAt`. */
  dated: boolean;
  rows: number;
  /** Whether rows have a field by the name of every column of ours, where their shape is not specified. */
  hasOurNames: boolean;
  /** What the API makes of every limit. */
  pageRows: number;
  /** Which runs are glances, over and over; the others are walks. */
  looks: readonly boolean[];
  /** In which order calls that are in flight together are answered (see `mirror-bench.ts`). */
  order: readonly number[];
  /** What happens before each call, from the first on; nothing more after the last. */
  events: readonly (readonly Event[])[];
};

/** One walk or glance from its beginning to its end, over every interruption. */
export type Passage = {
  walk: WalkRow;
  /** Rows upstream at each of its calls, by key, each as it would be mirrored. */
  upstream: Map<string, string>[];
  before: Map<string, string>;
  after: Map<string, string>;
  /** The reasons of the rows that were held before and after, by key. */
  heldBefore: Map<string, string>;
  heldAfter: Map<string, string>;
  interruptions: number;
  /** Whether it is a glance beside an unfinished walk. */
  isBesideWalk: boolean;
  /** Pages of it that a fault made shorter. */
  shortened: number;
};

export type Life = { passages: Passage[]; sent: Set<string> };

const place = fc.integer({ min: 0, max: 999 });
const some = fc.integer({ min: 1, max: 4 });

/** Edits that keep the order of the rows that stay, but for rows that move to the head. */
const orderly: fc.Arbitrary<Event>[] = [
  fc.record({ do: fc.constant('insert'), at: fc.oneof(fc.constant(0), place), count: some }),
  fc.record({ do: fc.constant('remove'), at: place, count: some }),
  fc.record({ do: fc.constant('bump'), at: place }),
  fc.record({ do: fc.constant('change'), at: place }),
];

/** Edits of a feed: what is new stands before all that is older. */
const ofFeed: fc.Arbitrary<Event>[] = [
  fc.record({ do: fc.constant('insert'), at: fc.constant(0), count: fc.integer({ min: 1, max: 12 }) }),
  fc.record({ do: fc.constant('remove'), at: place, count: some }),
  fc.record({ do: fc.constant('change'), at: place }),
];

const anyEdit = [...orderly, fc.record({ do: fc.constant('move' as const), at: place, to: place })];

const interruptions: fc.Arbitrary<Event>[] = [fc.constant({ do: 'crash' }), fc.constant({ do: 'stop' })];

const mishaps: fc.Arbitrary<Event>[] = [
  ...interruptions,
  fc.constant({ do: 'empty page' }),
  fc.record({ do: fc.constant('short page'), rows: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ do: fc.constant('wait'), hours: fc.integer({ min: 1, max: 30 }) }),
];

export type Wildness = 'interrupted' | 'feed' | 'orderly' | 'any';

/** @param wildness what happens: interruptions alone, edits of a feed, edits that keep the order, or any. */
export function scenarios(wildness: Wildness, longest: number): fc.Arbitrary<Scenario> {
  const edits = { interrupted: [], feed: ofFeed, orderly, any: anyEdit }[wildness];
  const event = fc.oneof(
    ...edits.map((arbitrary) => ({ weight: 4, arbitrary })),
    ...(wildness === 'interrupted' ? interruptions : mishaps),
  );
  const dataset = fc.constantFrom(
    { job: 'news', dated: false },
    { job: 'meme-signals', dated: false },
    { job: 'ai-signals', dated: false },
    { job: 'ai-signals', dated: true },
  );
  return fc
    .record({
      dataset,
      rows: fc.noBias(fc.integer({ min: 0, max: 60 })),
      hasOurNames: fc.nat(7).map((one) => one === 7),
      pageRows: fc.noBias(fc.integer({ min: 3, max: 9 })),
      order: fc.array(fc.nat(3), { minLength: 1, maxLength: 7 }),
      looks:
        wildness === 'interrupted'
          ? fc.constant([false])
          : fc.array(fc.boolean(), { minLength: 1, maxLength: 5 }),
      events: fc.constantFrom(0, 2, 8).chain((calm) => lives(event, calm, longest)),
    })
    .map(({ dataset, ...rest }) => ({ ...dataset, ...rest }));
}

/** @param calm how many calls see nothing happen for one that may. */
function lives(event: fc.Arbitrary<Event>, calm: number, longest: number): fc.Arbitrary<Event[][]> {
  const moment = fc.oneof(
    { weight: calm, arbitrary: fc.constant<Event[]>([]) },
    { weight: 1, arbitrary: fc.array(event, { maxLength: 2 }) },
  );
  return fc.noBias(fc.array(moment, { minLength: 5, maxLength: longest }));
}

/**
 * Empty benches for lives: one for those whose fields have our names, since columns stay, and hundreds of them make every
 * later life slow; one for all others.
 */
export async function openLives() {
  const [named, plain] = [await openBench({ rows: 0 }), await openBench({ rows: 0 })];
  return {
    benchFor({ hasOurNames }: Scenario): Bench {
      const bench = hasOurNames ? named : plain;
      bench.clear();
      return bench;
    },
    async close() {
      await Promise.all([named.close(), plain.close()]);
    },
  };
}

/** Somebody who looks at the mirror while it lives. */
export type Watcher = { beforeAnswer(): void; afterPassage(passage: Passage): void };

/** Mirrors the dataset again and again until every event has happened, and the last walk has ended. */
export async function live(bench: Bench, scenario: Scenario, watcher?: Watcher): Promise<Life> {
  const { job, dated, rows, hasOurNames, pageRows, order, looks, events } = scenario;
  const dataset = bench.upstream(job);
  // What identifies a row is known: how it is found, other lives show.
  bench.hints = bench.job(job).contract ? {} : { key: [[dataset.idField]] };
  dataset.rows = dataset.make(rows);
  if (hasOurNames && !bench.job(job).contract) dataset.rows = dataset.rows.map(namer(bench));
  dataset.generatedAt = job !== 'ai-signals' ? undefined : dated ? publication(bench) : null;
  const life: Life = { passages: [], sent: new Set() };
  let calls = 0;
  let fault: Fault | undefined;
  let stop = new AbortController();
  let latest: (Mirrored & { version: number }) | undefined;
  /** Read anew only where something was committed since. */
  const mirrored = (): Mirrored => {
    const version = bench.sql<{ data_version: number }>('PRAGMA data_version')[0]?.data_version ?? 0;
    if (latest?.version !== version)
      latest = { version, rows: mirroredVersions(bench, job), held: heldRows(bench, job) };
    return latest;
  };
  const begin = () => beginPassage(mirrored());
  const under = { walk: begin(), glance: begin() };
  let now = under.walk;

  bench.model.faults = [
    () => [faults.limitIgnored(pageRows), ...(fault ? [fault] : []), noteSent(bench, job, life.sent)],
  ];
  bench.sideBySide.answerIn(order);
  bench.model.beforeAnswer = async ({ query }) => {
    const asking = now;
    await bench.sideBySide.hold(Number(query['offset']));
    watcher?.beforeAnswer();
    fault = undefined;
    for (const event of events[calls] ?? []) happen(event);
    calls += 1;
    if (fault) asking.shortened += 1;
    asking.upstream.push(upstreamVersions(bench, job, dataset.rows));
  };

  function happen(event: Event): void {
    const edit = editOf(event, dataset.rows.length);
    if (edit) {
      edit(dataset);
      bench.clock.advance(100);
      if (dated) dataset.generatedAt = publication(bench);
    } else if (event.do === 'short page') fault = faults.shortPage(event.rows);
    else if (event.do === 'empty page') fault = faults.emptyPageWithMore();
    else if (event.do === 'wait') bench.clock.advance(event.hours * 3_600_000);
    else if (event.do === 'crash') {
      bench.reopen();
      latest = undefined;
    } else stop.abort(new Error('stopped'));
  }

  for (let run = 0; calls < events.length || isInterrupted(under); run += 1) {
    const kind = looks[run % looks.length] ? 'glance' : 'walk';
    // A walk gives up the glance before it.
    under.glance = kind === 'walk' ? begin() : under.glance;
    if (under[kind].interruptions === 0) under[kind] = begin();
    under[kind].isBesideWalk ||= kind === 'glance' && under.walk.interruptions > 0;
    now = under[kind];
    stop = new AbortController();
    try {
      const walk = await bench
        .mirror(job, undefined, stop.signal, kind)
        .finally(bench.sideBySide.allAnswered);
      const { rows: after, held: heldAfter } = mirrored();
      const passage = { ...now, walk, after, heldAfter };
      life.passages.push(passage);
      watcher?.afterPassage(passage);
      under[kind] = begin();
    } catch (thrown) {
      // Only what made a call: whatever is refused before it would be refused for ever.
      const isGivenUp = thrown instanceof Failure && /lead nowhere/.test(thrown.message);
      if (isGivenUp) under[kind] = begin();
      else if (/not open|stopped/.test(toError(thrown).message)) now.interruptions += 1;
      else throw thrown;
    }
  }
  bench.sideBySide.answerIn([0]);
  bench.model.beforeAnswer = undefined;
  bench.model.faults = [() => noteSent(bench, job, life.sent)];
  return life;
}

/** Gives a row those names that it has not. Whoever inserts rows later inserts plain ones. */
function namer(bench: Bench): (row: Row) => Row {
  const columns = bench.sql<{ name: string }>(
    `SELECT DISTINCT c.name FROM sqlite_master AS t, pragma_table_xinfo(t.name) AS c WHERE t.name NOT IN (
       SELECT replace(job, '-', '_') || suffix.value FROM fields, json_each('["", "_history"]') AS suffix)`,
  );
  // Truth values: by none of these fields may a list of a single row be taken to be told apart.
  const named = Object.fromEntries(columns.map(({ name }, at) => [name, at % 2 === 0]));
  return (row) => ({ ...named, ...row });
}

type Begun = ReturnType<typeof beginPassage>;

const isInterrupted = (under: Record<WalkRow['kind'], Begun>) =>
  under.walk.interruptions + under.glance.interruptions > 0;

/** Rows, and the reasons of those that are held, by key. */
type Mirrored = { rows: Map<string, string>; held: Map<string, string> };

function beginPassage({ rows: before, held: heldBefore }: Mirrored) {
  return {
    upstream: [] as Map<string, string>[],
    before,
    heldBefore,
    interruptions: 0,
    isBesideWalk: false,
    shortened: 0,
  };
}

const publication = (bench: Bench) => new Date(bench.clock.now()).toISOString();

function editOf(event: Event, rows: number): Edit | undefined {
  const at = (perMille: number) => Math.floor((perMille * rows) / 1_000);
  switch (event.do) {
    case 'insert':
      return insert(at(event.at), event.count);
    case 'remove':
      return remove(at(event.at), event.count);
    case 'bump':
      return rows > 0 ? bump(at(event.at)) : () => undefined;
    case 'move':
      return rows > 0 ? move(at(event.at), at(event.to)) : () => undefined;
    case 'change':
      return rows > 0 ? touch(at(event.at)) : () => undefined;
    default:
      return undefined;
  }
}

/** Something that every row has, whatever its dataset. */
const touch =
  (at: number): Edit =>
  (dataset) =>
    change(at, { ...dataset.make(1)[0], [dataset.idField]: dataset.rows[at]?.[dataset.idField] })(dataset);

function noteSent(bench: Bench, job: string, sent: Set<string>): Fault {
  return faults.editPage((page) => {
    for (const [key, version] of upstreamVersions(bench, job, page.rows)) sent.add(`${key} ${version}`);
    return page;
  });
}

/** Rows of the model are never changed, but replaced. */
const versionOf = new WeakMap<Row, string>();

/** Rows upstream, each as the one text that it would be mirrored as. */
export function upstreamVersions(bench: Bench, job: string, rows: readonly Row[]): Map<string, string> {
  const { idField } = bench.upstream(job);
  return new Map(
    rows.map((row) => {
      const version = versionOf.get(row) ?? textOf(upstreamColumns(bench, job, row));
      versionOf.set(row, version);
      return [String(row[idField]), version];
    }),
  );
}

export function mirroredVersions(bench: Bench, job: string): Map<string, string> {
  return new Map([...mirroredRows(bench, job)].map(([key, columns]) => [key, textOf(columns)]));
}

/** Why rows are held, by key. */
const heldRows = (bench: Bench, job: string) =>
  new Map(
    bench
      .sql<{ key: string; reason: string }>(
        `SELECT _key AS key, _held_reason AS reason FROM "${job.replaceAll('-', '_')}" WHERE _held_since IS NOT NULL`,
      )
      .map(({ key, reason }) => [key, reason]),
  );

const textOf = (columns: Record<string, unknown>) => JSON.stringify(Object.entries(columns).sort());
