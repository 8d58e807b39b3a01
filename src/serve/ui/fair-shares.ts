/**
 * Places of which there are few. Where all are taken and another viewer comes, the oldest place of the viewer who holds most is
 * taken from him, so that nobody shuts out others by taking all there is. A viewer is an account, or a session by a link.
 */

export type FairShares = {
  /**
   * A place for `owner`, from whom `giveWay` takes it again. Undefined where all places are taken, and nobody holds more than
   * `owner` would then.
   */
  take(owner: string, giveWay: () => void): Share | undefined;
  /** Takes a place from who holds most, if that is more than `owner` would hold with one more. */
  makeRoom(owner: string): void;
  /** How many places `owner` holds. */
  heldBy(owner: string): number;
};

export type Share = {
  /** Whoever calls it again, or has given way, leaves nothing. */
  leave(): void;
};

export function openFairShares(places: number): FairShares {
  // Oldest first.
  const held = new Map<Share, { owner: string; giveWay(): void }>();

  const heldBy = (owner: string) => [...held.values()].filter((each) => each.owner === owner).length;

  function makeRoom(owner: string): void {
    const counts = new Map<string, number>();
    for (const each of held.values()) counts.set(each.owner, (counts.get(each.owner) ?? 0) + 1);
    const most = Math.max(...counts.values());
    if (most <= (counts.get(owner) ?? 0) + 1) return;
    const found = [...held].find(([, each]) => counts.get(each.owner) === most);
    if (!found) return;
    const [share, { giveWay }] = found;
    held.delete(share);
    giveWay();
  }

  return {
    heldBy,
    makeRoom,
    take(owner, giveWay) {
      if (held.size >= places) makeRoom(owner);
      if (held.size >= places) return undefined;
      const share: Share = { leave: () => void held.delete(share) };
      held.set(share, { owner, giveWay });
      return share;
    },
  };
}
