/** What an answer's sources prove of it, in words, and whether that is enough. */

import ms from 'ms';
import { ageOf, describeAhead } from '../../clock.ts';
import { Failure } from '../../errors.ts';
import type { Source } from './sources.ts';

/**
 * The sources of an answer for `asOf`, dated, and what to say of them.
 * @throws Failure `usage` where what stood at `asOf` has been dropped, `incomplete` where a source is older than `maxAgeMs`.
 */
export function judge(
  sources: readonly Source[],
  asOf: string | null,
  maxAgeMs: number | undefined,
  now: number,
): { sources: Source[]; notes: string[] } {
  const moment = asOf === null ? now : Date.parse(asOf);
  const dated = datedBy(sources, moment);
  if (asOf !== null) refuseForgotten(dated, asOf);
  if (maxAgeMs !== undefined) refuseOlder(dated, maxAgeMs, moment);
  return { sources: dated, notes: notesOn(dated, asOf) };
}

/** The sources as of `now`: a walk that began ahead of it proves what it read, but not of when. */
function datedBy(sources: readonly Source[], now: number): Source[] {
  const isAhead = ({ proof }: Source) => proof !== null && ageOf(Date.parse(proof.startedAt), now) === null;
  return sources.map((source) => (isAhead(source) ? { ...source, completeAsOf: null } : source));
}

function notesOn(sources: readonly Source[], asOf: string | null): string[] {
  return sources.flatMap(({ job, table, past, completeAsOf, proof, firstWalkAt, historyFrom }) => {
    if (firstWalkAt === null) return [`${table} was never mirrored: run market-mirror sync ${job}`];
    if (asOf !== null && asOf < firstWalkAt)
      return [
        `${asOf} lies before the first walk of ${job} (${firstWalkAt}): the mirror held nothing of it then`,
      ];
    if (completeAsOf === null && proof !== null) return [`${table}: ${describeAhead(proof.startedAt)}`];
    if (completeAsOf === null)
      return [
        `${table} ${asOf === null ? 'has never been' : 'had never been'} complete: rows may be missing`,
      ];
    if (asOf === null && historyFrom !== null)
      return [`${past} goes back to ${historyFrom} only: what is older was dropped`];
    return [];
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

/** A source without a proven walk that began within `maxAgeMs` before `now` is too old. */
function refuseOlder(sources: readonly Source[], maxAgeMs: number, now: number): void {
  const tooOld = sources.filter(
    ({ completeAsOf }) => completeAsOf === null || now - Date.parse(completeAsOf) > maxAgeMs,
  );
  if (tooOld.length === 0) return;
  const ages = tooOld.map(({ job, completeAsOf, proof }) => {
    if (completeAsOf !== null)
      return `${job} is complete as of ${completeAsOf}, ${ms(now - Date.parse(completeAsOf))} ago`;
    return proof === null ? `${job} has never been complete` : `${job}: ${describeAhead(proof.startedAt)}`;
  });
  throw new Failure('incomplete', `older than ${ms(maxAgeMs)}: ${ages.join('; ')}`);
}
