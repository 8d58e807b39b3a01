/** Two shippers to one Postgres, killed and cut off again and again while the mirror goes on. */

import type { Random } from '../../../model-api/index.ts';
import type { World } from '../world.ts';
import { type Attack, type End, expectThat } from './attack.ts';

export const shippingAttacks: readonly Attack[] = [
  {
    name: 'ship',
    about: 'two that ship at once are killed, and their connections cut, at COMMIT, too',
    lasts: [4_000, 8_000],
    kills: true,
    isOfFollowers: true,
    begin,
  },
];

/** What befalls a shipper when it sends one of its pieces, or one of its COMMITs. */
type Fate = { isOfCommits: boolean; at: number; how: 'kill' | 'before' | 'after' };

/** A shipper that finds little new sends about so many pieces, and so many of them commit. */
const PIECES = 90;
const COMMITS = 7;
/** Done, and broken off: what else one may end with is a bug. */
const honest: readonly (number | null)[] = [0, 75];

async function begin(world: World, random: Random): Promise<End> {
  const target = await world.shipTarget();
  const over = new AbortController();
  const strange: string[] = [];
  const ships = async () => {
    let strike: ((piece: string) => 'before' | 'after' | false) | undefined;
    const way = await target.wayTo((piece) => strike?.(piece) ?? false);
    while (!over.signal.aborted) {
      const { child, ended, output } = world.run(['ship'], { MIRROR_SHIP: way.url });
      target.counts.started += 1;
      strike = fateful(draw(random), target.counts, () => child.kill('SIGKILL'));
      const { code } = await ended;
      if (code !== null && !honest.includes(code)) strange.push(`${code}: ${output()}`);
    }
    way.close();
  };
  const shippers = [ships(), ships()];
  return async () => {
    over.abort();
    await Promise.all(shippers);
    expectThat(strange.length === 0, `ship ends with 0 or 75, not with ${strange[0]}`);
  };
}

function draw(random: Random): Fate {
  const isOfCommits = random() < 0.3;
  const at = Math.ceil(random() * (isOfCommits ? COMMITS : PIECES));
  const how = (['kill', 'kill', 'before', 'after'] as const)[Math.floor(random() * 4)] ?? 'kill';
  return { isOfCommits, at, how };
}

/** Strikes once. */
function fateful(
  { isOfCommits, at, how }: Fate,
  counts: { killed: number; cut: number; atCommit: number },
  kill: () => void,
): (piece: string) => 'before' | 'after' | false {
  let met = 0;
  return (piece) => {
    const isCommit = piece.endsWith('COMMIT\0');
    if (isOfCommits && !isCommit) return false;
    met += 1;
    if (met !== at) return false;
    if (isCommit) counts.atCommit += 1;
    counts[how === 'kill' ? 'killed' : 'cut'] += 1;
    if (how !== 'kill') return how;
    kill();
    // What it has sent is on its way.
    return false;
  };
}
