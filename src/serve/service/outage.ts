/** Outages of a database, reported once when they begin and once when they are over. */

import { Failure } from '../../errors.ts';

/** Called with the outage when it begins, and with null when it is over. */
export type ReportOutage = (outage: Failure | null) => void;

/**
 * One report for several kinds of work with one database: an outage of any of them is one, and is over with the last.
 * @returns the report of a kind.
 */
export function sharedReport<Kind>(report: ReportOutage): (kind: Kind) => ReportOutage {
  const outages = new Map<Kind, Failure>();
  const current = () => outages.values().next().value ?? null;
  return (kind) => (outage) => {
    const before = current();
    if (outage) outages.set(kind, outage);
    else outages.delete(kind);
    if (current()?.message !== before?.message) report(current());
  };
}

/** @returns what runs some work, reports the Failure that it meets, and returns undefined then. */
export function reportOnChange(
  report: ReportOutage,
): <Result extends object | true>(work: () => Result) => Result | undefined {
  let reported: string | null = null;
  const update = (outage: Failure | null) => {
    const message = outage?.message ?? null;
    if (message !== reported) report(outage);
    reported = message;
  };
  return (work) => {
    try {
      const result = work();
      update(null);
      return result;
    } catch (thrown) {
      if (!(thrown instanceof Failure)) throw thrown;
      update(thrown);
      return undefined;
    }
  };
}
