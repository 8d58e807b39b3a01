/**
 * Places of which there are few. Where all are taken and another viewer comes, the viewer who holds most loses the oldest of
 * theirs, so that nobody shuts out others by taking all. A viewer is an account, or a session by a link.
 */

/** The viewer that an account is, by the page and by `/mirror/v1` alike. */
export const accountOwner = (account: string): string => `account ${account}`;

export type Share = {
  /** Does nothing for a place that was left, or went to another viewer. */
  leave(): void;
};

export function openFairShares(places: number) {
  // Oldest first.
  const held = new Map<Share, { owner: string; giveWay(): void }>();

  /** How many places `owner` holds. */
  const heldBy = (owner: string): number => [...held.values()].filter((each) => each.owner === owner).length;

  /** Takes a place from the viewer who holds most, if that is more than `owner` would hold with one more. */
  function makeRoom(owner: string): void {
    const most = Math.max(...[...held.values()].map((each) => heldBy(each.owner)));
    if (most <= heldBy(owner) + 1) return;
    const found = [...held].find(([, each]) => heldBy(each.owner) === most);
    if (!found) return;
    const [share, { giveWay }] = found;
    held.delete(share);
    giveWay();
  }

  return {
    heldBy,
    makeRoom,
    /**
     * @param giveWay called where the place goes to another viewer.
     * @returns undefined where all places are taken, and nobody holds more than `owner` would then.
     */
    take(owner: string, giveWay: () => void): Share | undefined {
      if (held.size >= places) makeRoom(owner);
      if (held.size >= places) return undefined;
      const share: Share = { leave: () => void held.delete(share) };
      held.set(share, { owner, giveWay });
      return share;
    },
  };
}
