/** Outages of a database, reported once when they begin and once when they are over. */

import { Failure } from '../../base/errors.ts';

/** Called with the outage when it begins, and with null when it is over. */
export type ReportOutage = (outage: Failure | null) => void;

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
