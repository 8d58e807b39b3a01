/** Random lives of a dataset while it is mirrored: what happens before each call, and how the mirror takes it. */

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { type Dataset, type Fault, faults, type Row } from '../../model-api/index.ts';
import { Failure, toError } from '../../src/base/errors.ts';
import type { Job } from '../../src/job.ts';
import { retryRefused } from '../../src/mirror.ts';
import { backUp } from '../../src/reading/backup.ts';
import { copyBeside, noteRestore, replaceDatabase } from '../../src/store/backup.ts';
import type { WalkRow } from '../../src/store.ts';
import { bump, change, type Edit, insert, move, remove } from './edits.ts';
import { type Bench, openBench } from './mirror-bench.ts';
import { mirroredForm, mirroredRows, upstreamColumns } from './truth.ts';

/**
 * What people do while nothing runs: refused rows are tried again, what was found out of the list is forgotten, its contract becomes
 * stricter or milder, a backup is made or put in place.
 */
export type Task = 'retry' | 'forget' | 'contract' | 'backup' | 'restore';

/**
 * Places are per mille of the rows there are. A row that is spoiled does not fit; a twin is another row under the key of one. People do
 * their tasks once the run has stopped.
 */
export type Event =
  | { do: 'insert' | 'remove'; at: number; count: number }
  | { do: 'bump' | 'change' | 'spoil'; at: number }
  | { do: 'move' | 'twin'; at: number; to: number }
  | { do: 'tend'; tasks: readonly Task[] }
  | { do: 'short page'; rows: number }
  | { do: 'empty page' | 'crash' | 'stop' }
  | { do: 'wait'; hours: number };

export type Scenario = {
  job: string;
  /** Whether every edit publishes a new `generatedAt`. */
  dated: boolean;
  /** Whether the user says what identifies a row, and whether the contract is the stricter one at first. */
  isKeyTold: boolean;
  isStrict: boolean;
  /** Places of rows that are spoiled from the beginning. */
  spoiled: readonly number[];
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
  /** The same, all of them. */
  lists: (readonly Row[])[];
  /** Rows that came with pages that were saved, as they would be mirrored. */
  came: Row[];
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

/** Where the mirror holds rows, each as it would be mirrored. */
export type Holdings = {
  table: Set<string>;
  /** Those of the table that the last proof did not show. */
  held: Set<string>;
  past: Set<string>;
  refused: Set<string>;
  refusedKeys: Set<string>;
};

/** The mirror while nothing runs: after a run, and after the tasks of people. `passage`: the one that has ended with it. */
export type Rest = { holdings: Holdings; isRestored: boolean; passage?: Passage };

export type Life = { passages: Passage[]; sent: Set<string>; rests: Rest[] };

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

const tasks: fc.Arbitrary<Task[]>[] = [
  fc.constant(['contract', 'retry']),
  fc.array(fc.constantFrom('retry', 'forget', 'contract', 'backup', 'restore'), {
    minLength: 1,
    maxLength: 3,
  }),
];

/** Where people tend the mirror. */
const tended: fc.Arbitrary<Event>[] = [
  ...orderly,
  fc.record({ do: fc.constant('spoil'), at: place }),
  fc.record({ do: fc.constant('twin'), at: place, to: place }),
  ...tasks.map((some) => fc.record({ do: fc.constant('tend' as const), tasks: some })),
  ...tasks.map((some) => fc.record({ do: fc.constant('tend' as const), tasks: some })),
];

const anyEdit = [...orderly, fc.record({ do: fc.constant('move' as const), at: place, to: place })];

const interruptions: fc.Arbitrary<Event>[] = [fc.constant({ do: 'crash' }), fc.constant({ do: 'stop' })];

const mishaps: fc.Arbitrary<Event>[] = [
  ...interruptions,
  fc.constant({ do: 'empty page' }),
  fc.record({ do: fc.constant('short page'), rows: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ do: fc.constant('wait'), hours: fc.integer({ min: 1, max: 30 }) }),
];

export type Wildness = 'interrupted' | 'feed' | 'orderly' | 'any' | 'tended';

/** Pages of a published snapshot that are full are requested in windows. */
const long = { job: 'ai-signals', dated: true, isLong: true };
const FULL_PAGE = 100;

/** @param wildness what happens: interruptions alone, edits of a feed, edits that keep the order, any; or tasks of people, too. */
export function scenarios(wildness: Wildness, longest: number): fc.Arbitrary<Scenario> {
  const edits = { interrupted: [], feed: ofFeed, orderly, any: anyEdit, tended }[wildness];
  const event = fc.oneof(
    ...edits.map((arbitrary) => ({ weight: 4, arbitrary })),
    ...(wildness === 'interrupted' ? interruptions : mishaps),
  );
  const dataset = fc.constantFrom<Pick<Scenario, 'job' | 'dated'> & { isLong?: boolean }>(
    { job: 'news', dated: false },
    { job: 'meme-signals', dated: false },
    { job: 'ai-signals', dated: false },
    { job: 'ai-signals', dated: true },
    ...(wildness === 'tended' ? [{ job: 'meme-signals', dated: true }, long] : []),
  );
  return fc
    .record({
      dataset,
      rows: fc.noBias(fc.integer({ min: 0, max: 60 })),
      hasOurNames: wildness === 'tended' ? fc.constant(false) : fc.nat(7).map((one) => one === 7),
      // Where nobody tends the list, what identifies a row is known: how it is found, other lives show.
      isKeyTold: wildness === 'tended' ? fc.boolean() : fc.constant(true),
      isStrict: wildness === 'tended' ? fc.boolean() : fc.constant(false),
      spoiled: fc.array(place, { maxLength: wildness === 'tended' ? 3 : 0 }),
      pageRows: fc.noBias(fc.integer({ min: 3, max: 9 })),
      order: fc.array(fc.nat(3), { minLength: 1, maxLength: 7 }),
      looks:
        wildness === 'interrupted'
          ? fc.constant([false])
          : fc.array(fc.boolean(), { minLength: 1, maxLength: 5 }),
      events: fc.constantFrom(0, 2, 8).chain((calm) => lives(event, calm, longest)),
    })
    .map(({ dataset: { isLong, ...dataset }, ...rest }) => ({
      ...dataset,
      ...rest,
      ...(isLong && { rows: FULL_PAGE + 8 * rest.rows, pageRows: FULL_PAGE }),
    }));
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
  const { job, dated, isKeyTold, isStrict, spoiled, rows, hasOurNames, pageRows, order, looks, events } =
    scenario;
  const dataset = bench.upstream(job);
  bench.hints = bench.job(job).contract || !isKeyTold ? {} : { key: [[dataset.idField]] };
  makeMild(bench, job);
  if (isStrict) changeContract(bench, job);
  dataset.rows = dataset.make(rows);
  if (hasOurNames && !bench.job(job).contract) dataset.rows = dataset.rows.map(namer(bench));
  for (const at of spoiled) editOf({ do: 'spoil', at }, rows)?.(dataset);
  dataset.generatedAt = dated ? publication(bench) : job === 'ai-signals' ? null : undefined;
  const life: Life = { passages: [], sent: new Set(), rests: [] };
  let calls = 0;
  let fault: Fault | undefined;
  let stop = new AbortController();
  let isCrashed = false;
  let latest: (Mirrored & { version: number }) | undefined;
  /** Read anew only where something was committed since. */
  const mirrored = (): Mirrored => {
    const version = bench.sql<{ data_version: number }>('PRAGMA data_version')[0]?.data_version ?? 0;
    if (latest?.version !== version)
      latest = { version, rows: mirroredVersions(bench, job), held: heldRows(bench, job) };
    return latest;
  };
  const begin = () => beginPassage(mirrored());
  let under: Under = { walk: begin(), glance: begin() };
  let now = under.walk;
  const backup = join(bench.dir, 'backup.db');
  let saved: { under: Under; holdings: Holdings } | undefined;
  let tasks: Task[] = [];

  bench.model.faults = [
    () => [
      faults.limitIgnored(pageRows),
      ...(fault ? [fault] : []),
      noteSent(bench, job, life.sent),
      // A page that is broken off is not saved.
      ...(stop.signal.aborted || isCrashed ? [] : [noteCame(now)]),
    ],
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
    asking.lists.push([...dataset.rows]);
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
      isCrashed = true;
      bench.reopen();
      latest = undefined;
    } else {
      if (event.do === 'tend') tasks.push(...event.tasks);
      stop.abort(new Error('stopped'));
    }
  }

  function rest(more: Partial<Rest> = {}): void {
    life.rests.push({ holdings: holdingsOf(bench, job), isRestored: false, ...more });
  }

  /** The mirror is at rest. */
  async function perform(task: Task): Promise<void> {
    const hasContract = bench.job(job).contract !== undefined;
    if (task === 'retry') retryRefused(bench.job(job), bench.store);
    if (task === 'contract' && hasContract) changeContract(bench, job);
    if (task === 'forget' && !hasContract) {
      bench.store.forget(bench.job(job));
      under = { walk: begin(), glance: begin() };
    }
    if (task === 'backup') {
      await makeBackup(bench, backup);
      saved = { under: copyOf(under), holdings: holdingsOf(bench, job) };
    }
    if (task === 'restore' && saved) {
      await restoreBackup(bench, backup);
      latest = undefined;
      under = copyOf(saved.under);
      life.rests.push({ holdings: saved.holdings, isRestored: true });
    }
    rest();
  }

  for (let run = 0; calls < events.length || isInterrupted(under); run += 1) {
    const kind = looks[run % looks.length] ? 'glance' : 'walk';
    // A walk gives up the glance before it.
    under.glance = kind === 'walk' ? begin() : under.glance;
    if (under[kind].interruptions === 0) under[kind] = begin();
    under[kind].isBesideWalk ||= kind === 'glance' && under.walk.interruptions > 0;
    now = under[kind];
    stop = new AbortController();
    isCrashed = false;
    try {
      const walk = await bench
        .mirror(job, undefined, stop.signal, kind)
        .finally(bench.sideBySide.allAnswered);
      const { rows: after, held: heldAfter } = mirrored();
      const passage = { ...now, walk, after, heldAfter };
      life.passages.push(passage);
      rest({ passage });
      watcher?.afterPassage(passage);
      under[kind] = begin();
    } catch (thrown) {
      // Only what made a call: whatever is refused before it would be refused for ever.
      const isGivenUp =
        thrown instanceof Failure && /lead nowhere|no row of the first page/.test(thrown.message);
      if (isGivenUp) under[kind] = begin();
      else if (/not open|stopped/.test(toError(thrown).message)) now.interruptions += 1;
      else throw thrown;
      rest();
    }
    for (const task of tasks) await perform(task);
    tasks = [];
  }
  rmSync(backup, { force: true });
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
type Under = Record<WalkRow['kind'], Begun>;

const isInterrupted = (under: Under) => under.walk.interruptions + under.glance.interruptions > 0;

const copyOf = ({ walk, glance }: Under): Under => ({ walk: copyOfBegun(walk), glance: copyOfBegun(glance) });

const copyOfBegun = (begun: Begun): Begun => ({
  ...begun,
  ...{ upstream: [...begun.upstream], lists: [...begun.lists], came: [...begun.came] },
});

/** Rows, and the reasons of those that are held, by key. */
type Mirrored = { rows: Map<string, string>; held: Map<string, string> };

function beginPassage({ rows: before, held: heldBefore }: Mirrored) {
  return {
    upstream: [] as Map<string, string>[],
    lists: [] as (readonly Row[])[],
    came: [] as Row[],
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
    case 'spoil':
      return rows > 0 ? spoil(at(event.at)) : () => undefined;
    case 'twin':
      return rows > 0 ? twin(at(event.at), at(event.to)) : () => undefined;
    default:
      return undefined;
  }
}

/** Something that every row has, whatever its dataset. */
const touch =
  (at: number): Edit =>
  (dataset) =>
    change(at, { ...dataset.make(1)[0], [dataset.idField]: dataset.rows[at]?.[dataset.idField] })(dataset);

const SPOILED = 'spoiled';

/** Text that no table holds; where there is a contract, one that the stricter one refuses. No twin: a refused one is never told apart. */
const spoil =
  (at: number): Edit =>
  (dataset) => {
    const { idField, rows } = dataset;
    if (rows.filter((row) => row[idField] === rows[at]?.[idField]).length > 1) return;
    const text = `${SPOILED} ${dataset.make(1)[0]?.[idField]}`;
    change(at, isSignal(dataset) ? { rationale: text } : { note: `${text} \ud800` })(dataset);
  };

const isSignal = ({ rows }: Dataset) => rows[0]?.['rationale'] !== undefined;

/** Another row under the key of one; with a contract, a row of its own. */
const twin =
  (at: number, to: number): Edit =>
  (dataset) => {
    const { rows, idField, make } = dataset;
    const hasOwn = isSignal(dataset) || String(rows[at]?.['note']).startsWith(SPOILED);
    const own = hasOwn ? {} : { [idField]: rows[at]?.[idField] };
    rows.splice(to, 0, { ...make(1)[0], ...own });
  };

type Contract = NonNullable<Job['contract']>;

const strictOnes = new WeakMap<Contract, Contract>();
const mildOnes = new WeakMap<Contract, Contract>();

function changeContract(bench: Bench, name: string): void {
  const job = bench.job(name);
  const { contract } = job;
  if (contract) job.contract = mildOnes.get(contract) ?? strictOf(contract);
}

/** As the job declares it. */
export function makeMild(bench: Bench, name: string): void {
  const job = bench.job(name);
  job.contract = (job.contract && mildOnes.get(job.contract)) ?? job.contract;
}

function strictOf(mild: Contract): Contract {
  const isSpoiled = (row: Row) => String(row['rationale']).startsWith(SPOILED);
  const strict = strictOnes.get(mild) ?? {
    ...mild,
    row: mild.row.refine((row: Row) => !isSpoiled(row), 'is not spoiled'),
  };
  strictOnes.set(mild, strict);
  mildOnes.set(strict, mild);
  return strict;
}

async function makeBackup({ dir, clock }: Bench, file: string): Promise<void> {
  const { signal } = new AbortController();
  await backUp(dir, file, { force: true, serve: join(dir, 'serve.db'), now: clock.now(), signal });
}

async function restoreBackup(bench: Bench, backup: string): Promise<void> {
  const { file } = bench.store;
  const copy = await copyBeside(backup, file, new AbortController().signal);
  const keep = join(bench.dir, 'before-restore');
  bench.reopen(() => {
    noteRestore(file, copy, bench.clock.now());
    replaceDatabase(file, copy, { keep, step: () => undefined });
  });
  rmSync(keep, { recursive: true });
}

/** What the mirror holds of a dataset, and where. */
export function holdingsOf(bench: Bench, name: string): Holdings {
  const job = bench.job(name);
  const { table } = job;
  const texts = (suffix: string) =>
    bench.sql(`SELECT * FROM ${table}${suffix}`).map((row) => textOf(mirroredForm(job, row)));
  const refused = bench.sql<{ key: string | null; body: string; resolved_at: string | null }>(
    'SELECT key, body, resolved_at FROM quarantine WHERE job = ?',
    name,
  );
  const isOpen = refused.filter((row) => row.resolved_at === null);
  const isClosed = refused.filter((row) => row.resolved_at !== null);
  const formOf = ({ body }: { body: string }) =>
    job.contract ? versionText(bench, name, JSON.parse(body)) : textOf({ _body: body });
  return {
    table: new Set(texts('')),
    held: new Set(texts(' WHERE _held_since IS NOT NULL')),
    past: new Set([...texts('_history'), ...isClosed.map(formOf)]),
    refused: new Set(isOpen.map(formOf)),
    refusedKeys: new Set(refused.flatMap(({ key }) => key ?? [])),
  };
}

function noteCame({ came }: Begun): Fault {
  return faults.editPage((page) => {
    came.push(...page.rows);
    return page;
  });
}

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
  return new Map(rows.map((row) => [String(row[idField]), versionText(bench, job, row)]));
}

/** A row upstream as the one text that it would be mirrored as. */
export function versionText(bench: Bench, job: string, row: Row): string {
  const version = versionOf.get(row) ?? textOf(upstreamColumns(bench, job, row));
  versionOf.set(row, version);
  return version;
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
