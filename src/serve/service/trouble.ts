/** Trouble with the database, told once when it begins and once when it is over. */

import { Failure } from '../../errors.ts';

/** Tells the operator of a trouble when it begins, and null when it is over. */
export type Tell = (trouble: Failure | null) => void;

/**
 * @returns what runs some work, tells of the trouble that it meets, and gives undefined then.
 */
export function tellingOnce(tell: Tell): <T extends object | true>(work: () => T) => T | undefined {
  let told: string | null = null;
  const say = (trouble: Failure | null) => {
    const message = trouble?.message ?? null;
    if (message !== told) tell(trouble);
    told = message;
  };
  return (work) => {
    try {
      const result = work();
      say(null);
      return result;
    } catch (thrown) {
      if (!(thrown instanceof Failure)) throw thrown;
      say(thrown);
      return undefined;
    }
  };
}
