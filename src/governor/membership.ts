/** Which endpoints draw on the pool that the headers tell of. */

export type Membership = Record<string, { shared: number; apart: number }>;

/** Each endpoint counts as a member until it was seen apart this often, and hardly ever otherwise. */
const PROOF = 3;

export function isApart(members: Membership, job: string): boolean {
  const seen = members[job];
  return seen !== undefined && seen.apart >= PROOF && seen.apart > PROOF * seen.shared;
}

/**
 * Between two headers the pool fell by `fall` beside the calls that told of it, while `calls` of each other
 * endpoint were answered: by none of them, by all of them, or nobody knows.
 */
export function noteFall(members: Membership, calls: Record<string, number>, fall: number): Membership {
  const total = Object.values(calls).reduce((sum, times) => sum + times, 0);
  const verdict = fall === 0 ? 'apart' : fall >= total ? 'shared' : null;
  if (total === 0 || verdict === null) return members;
  const noted = Object.keys(calls).map((job) => {
    const seen = members[job] ?? { shared: 0, apart: 0 };
    return [job, { ...seen, [verdict]: seen[verdict] + 1 }];
  });
  return { ...members, ...Object.fromEntries(noted) };
}
