/** What is proven of an answer's sources, and what was merely seen, in words, and whether that is enough. */

import ms from 'ms';
import { ageOf, describeAhead, describeSeenAhead, isTooOld } from '../../clock.ts';
import { Failure } from '../../errors.ts';
import type { Source } from './sources.ts';

/** How old the data may be, in milliseconds: since it was proven complete, and since new rows were looked for. */
export type MostAges = { maxAgeMs?: number | undefined; maxSeenAgeMs?: number | undefined };

/**
 * The sources of an answer for `asOf`, dated, and what to say of them.
 * @throws Failure `usage` where what stood at `asOf` has been dropped, `incomplete` where a source is too old.
 */
export function judge(
  sources: readonly Source[],
  asOf: string | null,
  { maxAgeMs, maxSeenAgeMs }: MostAges,
  now: number,
): { sources: Source[]; notes: string[] } {
  const moment = asOf === null ? now : Date.parse(asOf);
  const dated = datedBy(sources, moment);
  if (asOf !== null) refuseForgotten(dated, asOf);
  refuseOlder(dated, proven, maxAgeMs, moment);
  refuseOlder(dated, seen, maxSeenAgeMs, moment);
  return { sources: dated, notes: notesOn(dated, asOf) };
}

/** The sources as of `now`: what began ahead of it proves and shows what it read, but not of when. */
function datedBy(sources: readonly Source[], now: number): Source[] {
  const past = (time: string | null) =>
    time === null || ageOf(Date.parse(time), now) === null ? null : time;
  return sources.map((source) => ({
    ...source,
    completeAsOf: past(source.completeAsOf),
    seenAsOf: past(source.seenAsOf),
  }));
}

function notesOn(sources: readonly Source[], asOf: string | null): string[] {
  return sources.flatMap((source) => {
    const { job, table, past, completeAsOf, seenAsOf, proof, firstWalkAt, historyFrom } = source;
    if (firstWalkAt === null) return [`${table} was never mirrored: run market-mirror sync ${job}`];
    if (completeAsOf === null && proof !== null) return [`${table}: ${describeAhead(proof.startedAt)}`];
    if (completeAsOf === null)
      return [
        `${table} ${asOf === null ? 'has never been' : 'had never been'} complete: rows may be missing`,
      ];
    return [
      ...(seenAsOf !== null && seenAsOf > completeAsOf
        ? [
            `${table} is proven complete as of ${completeAsOf}; it also has what was seen as of ${seenAsOf}, which is not proven`,
          ]
        : []),
      ...(asOf === null && historyFrom !== null
        ? [`${past} goes back to ${historyFrom} only: what is older was dropped`]
        : []),
    ];
  });
}

/** @throws Failure `usage` where changes after `since` have been dropped. */
export function refuseGap(sources: readonly Source[], since: string): void {
  const [gap] = sources.filter((source) => isForgotten(since, source));
  if (gap)
    throw new Failure(
      'usage',
      `--since: changes of ${gap.table} up to ${gap.historyFrom} were dropped (${keepingOf(gap)}): export all of it, and go on from the receipt's seq`,
    );
}

function refuseForgotten(sources: readonly Source[], asOf: string): void {
  const [gap] = sources.filter((source) => isForgotten(asOf, source));
  if (gap)
    throw new Failure(
      'usage',
      `--as-of: ${gap.past} goes back to ${gap.historyFrom} only, what is older was dropped (${keepingOf(gap)})`,
    );
}

/** Before the first walk there was nothing that could have been dropped. */
function isForgotten(time: string, { firstWalkAt, historyFrom }: Source): boolean {
  return historyFrom !== null && time < historyFrom && firstWalkAt !== null && time >= firstWalkAt;
}

/** The setting that bounds the past of a dataset. */
const keepingOf = ({ table, past }: Source) => (past === table ? 'MIRROR_KEEP_USAGE' : 'MIRROR_KEEP_HISTORY');

/** One of the two ages of a source, and how it is told. */
type Age = {
  since(source: Source): string | null;
  tooOld: string;
  last: string;
  /** Where `since` is null. */
  unknown(source: Source): string;
};

const proven: Age = {
  since: ({ completeAsOf }) => completeAsOf,
  tooOld: 'older than',
  last: 'is complete as of',
  unknown: ({ job, proof }) =>
    proof === null ? `${job} has never been complete` : `${job}: ${describeAhead(proof.startedAt)}`,
};

const seen: Age = {
  since: ({ seenAsOf }) => seenAsOf,
  tooOld: 'not looked at within',
  last: 'was last looked at',
  unknown: ({ job, lastLook }) =>
    lastLook === null ? `${job} was never looked at` : `${job}: ${describeSeenAhead(lastLook.startedAt)}`,
};

function refuseOlder(sources: readonly Source[], age: Age, mostMs: number | undefined, now: number): void {
  if (mostMs === undefined) return;
  const told = sources.flatMap((source) => {
    const since = age.since(source);
    const ageMs = since === null ? null : ageOf(Date.parse(since), now);
    if (!isTooOld(ageMs, mostMs)) return [];
    return [ageMs === null ? age.unknown(source) : `${source.job} ${age.last} ${since}, ${ms(ageMs)} ago`];
  });
  if (told.length > 0) throw new Failure('incomplete', `${age.tooOld} ${ms(mostMs)}: ${told.join('; ')}`);
}
