/** Permits given out and not yet answered for: they are spent until their owner says otherwise. */

export type Leases = Record<string, Lease>;

export type Lease = {
  /** Calls allowed and not yet answered or given back. */
  calls: number;
  /** How many of them may be under way at once. */
  parallel: number;
  heardAt: number;
};

/** No call takes longer than its deadline of a minute; an owner silent for two is gone. */
const OWNER_TTL_MS = 120_000;

export function grant(leases: Leases, owner: string, calls: number, parallel: number, now: number): Leases {
  return { ...leases, [owner]: { calls: (leases[owner]?.calls ?? 0) + calls, parallel, heardAt: now } };
}

/** `calls` of the owner's permits were answered or given back. */
export function settle(leases: Leases, owner: string, calls: number, now: number): Leases {
  const held = leases[owner];
  if (!held) return leases;
  const left = Math.max(0, held.calls - calls);
  return left === 0 ? without(leases, owner) : { ...leases, [owner]: { ...held, calls: left, heardAt: now } };
}

export function without(leases: Leases, owner: string): Leases {
  const { [owner]: _, ...others } = leases;
  return others;
}

/** Owners that have not been heard of for so long that their calls cannot still be under way. */
export function silentOwners(leases: Leases, now: number): string[] {
  return Object.entries(leases)
    .filter(([, lease]) => now - lease.heardAt > OWNER_TTL_MS)
    .map(([owner]) => owner);
}

/** Calls that may be made or answered at any moment. */
export function outstanding(leases: Leases): number {
  return Object.values(leases).reduce((sum, lease) => sum + lease.calls, 0);
}

/** How many calls the others may have under way at once. */
export function parallelOfOthers(leases: Leases, owner: string): number {
  return Object.entries(leases)
    .filter(([name]) => name !== owner)
    .reduce((sum, [, lease]) => sum + Math.min(lease.calls, lease.parallel), 0);
}
