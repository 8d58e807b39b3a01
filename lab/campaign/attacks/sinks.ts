/** Two that ship to one Postgres or lay one lake at once, in a folder and in a bucket, killed and cut off again and again while the mirror goes on. */

import type { Random } from '../../../model-api/index.ts';
import type { Running } from '../../../test/helpers/cli.ts';
import type { How, Strike, Way } from '../world/bucket.ts';
import type { World } from '../world.ts';
import { type Attack, type End, expectThat } from './attack.ts';

/** Done, broken off, and killed: what else one may end with is a bug. */
const honest: readonly (number | null)[] = [0, 75, null];

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
      strike = fateful(drawFate(random), target.counts, () => child.kill('SIGKILL'));
      const { code } = await ended;
      if (!honest.includes(code)) strange.push(`${code}: ${output()}`);
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

function drawFate(random: Random): Fate {
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

export const lakeAttacks: readonly Attack[] = [
  {
    name: 'lake',
    about: 'two that lay one lake at once are killed at any moment',
    lasts: [3_000, 8_000],
    kills: true,
    isOfFollowers: true,
    begin: inFolder,
  },
  {
    name: 'lake-bucket',
    about: 'the same in a bucket, at any request: connections are cut, and answers are 500 or 503, too',
    lasts: [4_000, 8_000],
    kills: true,
    isOfFollowers: true,
    begin: inBucket,
  },
];

/** So many of them may end by themselves, to show how much one does. */
const SPARED = 0.2;

async function inFolder({ lake: { folder, counts }, run }: World, random: Random): Promise<End> {
  let longest = 1_000;
  return keepLaying([folder, folder], async (there) => {
    const began = performance.now();
    const running = run(['lake'], { MIRROR_LAKE: there });
    counts.started += 1;
    // Before the middle nothing is written: the program begins.
    const fate = random() < SPARED ? undefined : longest * (0.4 + 0.6 * random());
    const timer = fate === undefined ? undefined : setTimeout(() => running.child.kill('SIGKILL'), fate);
    await running.ended;
    clearTimeout(timer);
    if (isKilled(running)) counts.killed += 1;
    else longest = performance.now() - began;
    return running;
  });
}

/** As many as one makes who finds little new. */
const USUAL_REQUESTS = 60;
const failures: readonly How[] = ['cut-before', 'cut-after', 500, 503];

async function inBucket(world: World, random: Random): Promise<End> {
  const { ways, counts } = await world.openBucket();
  let requests = USUAL_REQUESTS;
  return keepLaying(ways, async (way: Way) => {
    let running: Running | undefined;
    await way.prepare(drawStrikes(random, requests), () => running?.child.kill('SIGKILL'));
    running = world.run(['lake'], way.environment);
    counts.started += 1;
    await running.ended;
    const met = await way.prepare([], () => undefined);
    if (isKilled(running)) counts.killed += 1;
    else requests = met;
    return running;
  });
}

/** Few enough failures that asking again helps, and a kill. */
function drawStrikes(random: Random, requests: number): Strike[] {
  const at = () => Math.ceil(random() * requests);
  const one = (of: readonly How[]) => of[Math.floor(random() * of.length)] ?? 'cut-before';
  const strikes = [1, 2].map((): Strike => ({ at: at(), how: one(failures) }));
  const kill: Strike = { at: at(), how: one(['kill-before', 'kill-after']) };
  return random() < SPARED ? strikes : [kill, ...strikes];
}

const isKilled = ({ child }: Running) => child.signalCode === 'SIGKILL';

/** One after the other on each way, all ways at once. @param layOnce resolves once it has ended. */
function keepLaying<W>(ways: readonly W[], layOnce: (way: W) => Promise<Running>): End {
  let isOver = false;
  const strange: string[] = [];
  const laying = ways.map(async (way) => {
    while (!isOver) {
      const { ended, output } = await layOnce(way);
      const { code } = await ended;
      if (!honest.includes(code)) strange.push(`${code}: ${output()}`);
    }
  });
  return async () => {
    isOver = true;
    await Promise.all(laying);
    expectThat(strange.length === 0, `lake ends with 0 or 75, not with ${strange[0]}`);
  };
}
