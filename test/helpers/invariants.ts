/** What must hold of a mirror whatever happens upstream or to the mirror itself. */

import type { Row } from '../../model-api/index.ts';
import { mostCalls } from '../../src/walk/anchored.ts';
import { PAGE_ROWS } from '../../src/walk/checkpoint.ts';
import type { Bench } from './mirror-bench.ts';
import {
  type Holdings,
  holdingsOf,
  type Life,
  makeMild,
  mirroredVersions,
  type Passage,
  type Scenario,
  upstreamVersions,
  versionText,
  type Wildness,
} from './scenario.ts';
import { differences } from './truth.ts';

/** Calls of a published snapshot that a crash, or another snapshot, may make useless: four that are saved, four in flight. */
const REPEATED = 8;

/** The most calls of a list with `generatedAt`: three passes by snapshot, each with a look beyond its end, then anchors. */
export function mostCallsOfSnapshot(rows: number, pageRows: number = PAGE_ROWS): number {
  return 3 * (Math.ceil(rows / pageRows) + 1) + mostCalls(rows, pageRows);
}

/** @throws an Error that says which promise was broken. */
export function checkLife({ passages, sent }: Life, scenario: Scenario, wildness: Wildness): void {
  const feed = wildness === 'feed';
  const orderly = feed || wildness === 'orderly';
  let proof: Passage | undefined;
  let walk: Passage | undefined;
  let hasGap = false;
  for (const passage of passages) {
    checkNothingInvented(passage, sent);
    checkCalls(passage, scenario);
    if (orderly) checkNothingMissed(passage);
    hasGap = passage.walk.kind === 'glance' && (hasGap || metNone(passage));
    if (feed && !hasGap) checkNoGap(passage, walk);
    checkRemovals(passage, proof, orderly);
    checkHeld(passage, orderly);
    if (isProof(passage)) proof = passage;
    if (passage.walk.kind === 'walk') walk = passage;
  }
}

/** Left alone, the mirror becomes what upstream is, within the proofs that a large removal needs. */
export async function checkConvergence(bench: Bench, job: string): Promise<void> {
  for (let quiet = 0; quiet < 6; quiet += 1) {
    const { verdict } = await bench.mirror(job);
    const held = bench.sql('SELECT 1 FROM freshness WHERE held > 0').length;
    if (verdict !== 'union' && held === 0) break;
  }
  const upstream = upstreamVersions(bench, job, bench.upstream(job).rows);
  const found = differences(upstream, mirroredVersions(bench, job));
  expectThat(found.lost.length === 0, `${found.lost} is mirrored as it stands upstream`);
  expectThat(found.false.length === 0, `${found.false} is not mirrored, since it is gone upstream`);
}

/**
 * What holds where people tend the mirror, and two rows may share a key. Rows are told apart by all that they hold.
 * @throws an Error that says which promise was broken.
 */
export function checkTended(bench: Bench, { rests }: Life, { job, pageRows }: Scenario): void {
  const { idField } = bench.upstream(job);
  const formOf = (row: Row) => versionText(bench, job, row);
  let before: Pick<Holdings, 'table' | 'past' | 'refused'> = {
    ...{ table: new Set(), past: new Set(), refused: new Set() },
  };
  for (const { holdings: now, isRestored, passage } of rests) {
    const isAnywhere = (form: string) => now.table.has(form) || now.past.has(form) || now.refused.has(form);
    const lost = isRestored ? undefined : [...before.table, ...before.past].find((form) => !isAnywhere(form));
    expectThat(lost === undefined, `${lost}, which was in table or history, is there still`);
    if (passage) {
      const { lists, came } = passage;
      const twins = twinsIn(lists, idField);
      const isTwin = (row: Row) => twins.has(row[idField]);
      const holds = (row: Row) =>
        now.table.has(formOf(row)) ||
        now.refused.has(formOf(row)) ||
        (isTwin(row) && isAnywhere(formOf(row)));
      const stayed = (lists[0] ?? []).filter((row) => lists.every((list) => list.includes(row)));
      const wasThere = (row: Row) => before.table.has(formOf(row)) || before.refused.has(formOf(row));
      const met = isProof(passage) && passage.walk.renewalOf === null;
      for (const row of stayed) {
        const what = `${formOf(row)}, which was upstream throughout ${name(passage)},`;
        expectThat(holds(row) || !(met || wasThere(row)), `${what} is in table or quarantine`);
        expectThat(!met || isTwin(row) || !now.held.has(formOf(row)), `${what} is not held`);
      }
      // Of the rows refused under one key the last is kept. Pages of a window may be dropped.
      const isKept = (row: Row) => isAnywhere(formOf(row)) || now.refusedKeys.has(String(row[idField]));
      const gone = pageRows < PAGE_ROWS ? came.find((row) => !isKept(row)) : undefined;
      expectThat(!gone, `${gone && formOf(gone)} came with ${name(passage)}, and is somewhere`);
    }
    before = now;
  }
}

/** Keys that two rows shared at any time. */
function twinsIn(lists: readonly (readonly Row[])[], idField: string): Set<unknown> {
  const twins = new Set<unknown>();
  for (const list of new Set(lists)) {
    const keys = new Set<unknown>();
    for (const row of list) {
      if (keys.has(row[idField])) twins.add(row[idField]);
      keys.add(row[idField]);
    }
  }
  return twins;
}

const WALKS_TO_HAVE_ALL = 2;
const WALKS_TO_SETTLE = 10;

/** Left alone, two walks bring all that is upstream to table or quarantine, and some more nothing else; then no walk changes anything. */
export async function checkTendedConvergence(bench: Bench, { job, dated }: Scenario): Promise<void> {
  const dataset = bench.upstream(job);
  makeMild(bench, job);
  // A first page of refused rows alone halts the list.
  dataset.rows.unshift(...dataset.make(1));
  if (dated) dataset.generatedAt = new Date(bench.clock.now() + 1).toISOString();
  const formOf = (row: Row) => versionText(bench, job, row);
  const walk = async () => {
    bench.clock.advance(60_000);
    return await bench.mirror(job);
  };
  for (let calm = 0; calm < WALKS_TO_HAVE_ALL; calm += 1) await walk();
  const has = holdingsOf(bench, job);
  const missing = dataset.rows.map(formOf).filter((form) => !has.table.has(form) && !has.refused.has(form));
  expectThat(missing.length === 0, `${missing} is in table or quarantine after two calm walks`);

  let isSettled = false;
  for (let calm = 0; calm < WALKS_TO_SETTLE && !isSettled; calm += 1) {
    const { verdict } = await walk();
    isSettled = verdict !== 'union' && bench.sql('SELECT 1 FROM freshness WHERE held > 0').length === 0;
  }
  expectThat(isSettled, `${job} is proven, and nothing of it held, after ten calm walks`);
  const { table } = holdingsOf(bench, job);
  const there = new Set(dataset.rows.map(formOf));
  const refusedKeys = bench.sql<{ key: string }>(
    'SELECT key FROM quarantine WHERE resolved_at IS NULL AND job = ?',
    job,
  );
  const wrong = [...table].filter((form) => !there.has(form));
  expectThat(wrong.length <= refusedKeys.length, `${wrong} is not mirrored, since it is gone upstream`);
  const { inserted, updated, deleted } = await walk();
  expectThat(inserted + updated + deleted === 0, 'a walk over what has not changed changes nothing');
}

export const isProof = ({ walk }: Pick<Passage, 'walk'>) =>
  walk.verdict === 'snapshot' || walk.verdict === 'verified';

/** The rows that were upstream at every call of the walk. */
function throughout({ upstream }: Passage): string[] {
  const [first = new Map<string, string>(), ...others] = upstream;
  return [...first.keys()].filter((key) => others.every((rows) => rows.has(key)));
}

function checkNothingInvented({ after }: Passage, sent: Set<string>): void {
  for (const [key, version] of after)
    expectThat(sent.has(`${key} ${version}`), `${key} was sent as mirrored`);
}

function checkNothingMissed(passage: Passage): void {
  if (!isProof(passage)) return;
  for (const key of throughout(passage)) {
    const version = passage.after.get(key);
    expectThat(version !== undefined, `${key} was there throughout ${name(passage)}, and is mirrored`);
    const isSeen = passage.upstream.some((rows) => rows.get(key) === version);
    expectThat(isSeen, `${key} is mirrored as it stood during ${name(passage)}`);
  }
}

const metNone = ({ walk: { kind, rows, inserted } }: Passage) =>
  kind === 'glance' && rows > 0 && inserted >= rows;

/**
 * Of a feed a glance brings all that came since the last walk that ended and was there while it looked, whatever broke off
 * between. What came during that walk, the next one brings; so may one that a glance is made beside. What lies behind a glance that met no
 * known row the next walk brings: the glance makes it due.
 */
function checkNoGap(passage: Passage, walk: Passage | undefined): void {
  if (passage.walk.kind !== 'glance' || passage.isBesideWalk) return;
  const walked = new Set(walk?.upstream.flatMap((rows) => [...rows.keys()]));
  for (const key of throughout(passage).filter((key) => !walked.has(key)))
    expectThat(passage.after.has(key), `${key}, which was there throughout ${name(passage)}, is mirrored`);
}

function checkRemovals(passage: Passage, proof: Passage | undefined, isOrderly: boolean): void {
  const removed = [...passage.before.keys()].filter((key) => !passage.after.has(key));
  expectThat(removed.length === 0 || isProof(passage), `${name(passage)} removed nothing without a proof`);
  // A row that came with a snapshot which was replaced meanwhile may go with the same walk, whether that or a glance beside it brought it.
  const { deleted, inserted, glanced, verdict } = passage.walk;
  const isCounted = removed.length <= deleted && deleted <= removed.length + inserted + glanced;
  expectThat(isCounted, `${name(passage)} counts what it removed`);
  if (!isOrderly) return;
  const there = new Set(throughout(passage));
  // What is published is whole; of another list it takes two proofs in a row.
  if (verdict === 'verified')
    for (const key of proof ? throughout(proof) : passage.before.keys()) there.add(key);
  for (const key of removed)
    expectThat(!there.has(key), `${key}, which ${name(passage)} removed, was proven to be gone`);
}

/** Only a proof holds rows, and it decides about those that were held before. */
function checkHeld(passage: Passage, isOrderly: boolean): void {
  const { walk, upstream, after, heldBefore, heldAfter, interruptions } = passage;
  const held = [...heldAfter.keys()];
  if (!isProof(passage) || walk.renewalOf !== null) {
    const isNew = held.find((key) => !heldBefore.has(key));
    expectThat(isNew === undefined, `${name(passage)}, which is no proof, does not hold ${isNew}`);
    return;
  }
  expectThat(walk.held === held.length, `${name(passage)} counts what it holds`);
  if (walk.verdict === 'snapshot')
    for (const [key, reason] of heldAfter)
      expectThat(reason === 'mass', `${key}, which ${name(passage)} holds, is one of many`);
  if (isOrderly)
    for (const key of throughout(passage))
      expectThat(!heldAfter.has(key), `${key}, which was there throughout ${name(passage)}, is not held`);
  // Beside an interrupted walk a glance may have shown it.
  const isSeen = (key: string) => interruptions > 0 || upstream.some((rows) => rows.has(key));
  for (const key of heldBefore.keys())
    expectThat(isSeen(key) || !after.has(key), `${key}, which was held, left with ${name(passage)}`);
  const [first = new Map<string, string>()] = upstream;
  if (interruptions > 0 || throughout(passage).length !== Math.max(...upstream.map(({ size }) => size)))
    return;
  const shown = [...after.keys()].filter((key) => !heldAfter.has(key)).sort();
  const isEqual = JSON.stringify(shown) === JSON.stringify([...first.keys()].sort());
  expectThat(isEqual, `what is not held after ${name(passage)} is what was upstream`);
}

function checkCalls(passage: Passage, { pageRows, dated }: Scenario): void {
  const { walk, upstream, interruptions, shortened } = passage;
  const rows = Math.max(...upstream.map(({ size }) => size), walk.rows);
  const bound = dated ? mostCallsOfSnapshot : mostCalls;
  const most = bound(rows, Math.min(pageRows, PAGE_ROWS)) + shortened;
  // A kill repeats calls; a window that is dropped behind a restart or a short page has wasted some.
  const extra = (interruptions + walk.restarts + shortened) * (dated ? REPEATED : 1);
  expectThat(walk.apiCalls <= most + extra, `${name(passage)} kept within ${most} calls`);
  expectThat(
    upstream.length <= walk.apiCalls + extra,
    `${name(passage)} repeated no more calls than its ${interruptions} interruptions cost`,
  );
}

const name = ({ walk }: Passage) =>
  `${walk.kind} ${walk.id} (${walk.verdict}, ${walk.apiCalls} calls, ${walk.rows} rows, anomalies ${walk.anomalies})`;

function expectThat(holds: boolean, promise: string): void {
  if (!holds) throw new Error(`broken: ${promise}`);
}
