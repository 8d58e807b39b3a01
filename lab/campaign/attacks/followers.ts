/** Followers of the mirror, killed and cut off again and again: two shippers of one Postgres, two of one lake, and a client of the change feed. */

import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import type { Random } from '../../../model-api/index.ts';
import type { Running } from '../../../test/helpers/cli.ts';
import { freePort } from '../../../test/helpers/loopback.ts';
import type { Attack, End } from '../attacks.ts';
import type { Finding } from '../checks.ts';
import { tableOf, type World } from '../world.ts';

/** Done, broken off, and killed: what else one may end with is a bug. */
const honest: readonly (number | null)[] = [0, 75, null];

export const followerAttacks: readonly Attack[] = [
  {
    name: 'ship',
    about: 'two that ship at once are killed, and their connections cut, at COMMIT, too',
    lasts: [4_000, 8_000],
    kills: true,
    isOfFollowers: true,
    begin: beginShipping,
  },
  {
    name: 'lake',
    about: 'two that lay one lake at once are killed at any moment',
    lasts: [3_000, 8_000],
    kills: true,
    isOfFollowers: true,
    begin: inFolder,
  },
  {
    name: 'feed',
    about: 'the service and a client of its change feed are killed at any moment',
    lasts: [4_000, 8_000],
    kills: true,
    isOfFollowers: true,
    begin: beginFeed,
  },
];

/** When a shipper is struck, at a piece or a COMMIT that it sends, and how. */
type Fate = { isOfCommits: boolean; at: number; how: 'kill' | 'before' | 'after' };

/** A shipper that finds little new sends about so many pieces, and so many of them commit. */
const PIECES = 90;
const COMMITS = 7;

async function beginShipping(world: World, random: Random): Promise<End> {
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
    assert.ok(strange.length === 0, `ship ends with 0 or 75, not with ${strange[0]}`);
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
    assert.ok(strange.length === 0, `lake ends with 0 or 75, not with ${strange[0]}`);
  };
}

/** What a world has of it: a key, an address and the copy. */
export type Feed = { url: string; key: string; copy: string; counts: { killed: number } };

const consumer = fileURLToPath(new URL('../world/feed-consumer.ts', import.meta.url));
/** A process that starts takes about so long; a kill falls before or after. */
const LONGEST_MS = 1_500;

async function beginFeed(world: World, random: Random): Promise<End> {
  const feed = await openFeed(world);
  const over = new AbortController();
  const again = async (start: () => { kill(): void; ended: Promise<unknown> }) => {
    while (!over.signal.aborted) {
      const { kill, ended } = start();
      await delay(300 + random() * LONGEST_MS, undefined, { signal: over.signal }).catch(() => undefined);
      kill();
      feed.counts.killed += 1;
      await ended;
    }
  };
  const killing = [
    again(() => {
      const { child, ended } = startService(world, feed);
      return { kill: () => void child.kill('SIGKILL'), ended };
    }),
    again(() => {
      const child = startConsumer(feed);
      return { kill: () => void child.kill('SIGKILL'), ended: once(child, 'exit') };
    }),
  ];
  return async () => {
    over.abort();
    await Promise.all(killing);
  };
}

async function openFeed(world: World): Promise<Feed> {
  if (world.feed) return world.feed;
  const { stdout, code } = await world.cli('keys', 'create', '--name', 'feed', '--json');
  assert.ok(code === 0, 'a key can be made beside a daemon');
  const { key } = JSON.parse(stdout) as { key: string };
  const url = `http://127.0.0.1:${await freePort()}`;
  world.feed = { url, key, copy: join(world.folder, 'feed-copy.db'), counts: { killed: 0 } };
  return world.feed;
}

const startService = (world: World, { url }: Feed): Running =>
  world.run(['serve', '--port', new URL(url).port], { MIRROR_SERVE_QUERY: 'on', MIRROR_SERVE_PAGE: 'off' });

const startConsumer = ({ url, key, copy }: Feed, ...more: string[]): ChildProcess =>
  spawn(process.execPath, ['--import', 'tsx', consumer, url, key, copy, ...more], { stdio: 'ignore' });

const CATCH_UP_MS = 30_000;

/** The copy has every row of the mirror in its version, and no other. Nothing where there was no client. */
export async function checkFeed(world: World): Promise<Finding[]> {
  const { feed } = world;
  if (!feed) return [];
  const service = startService(world, feed);
  const child = startConsumer(feed, 'once');
  const timer = setTimeout(() => child.kill('SIGKILL'), CATCH_UP_MS);
  const [code] = await once(child, 'exit');
  clearTimeout(timer);
  service.child.kill();
  await service.ended;
  if (code !== 0) return [{ kind: 'lost', what: 'the client of the change feed did not catch up' }];
  const copy = new Database(feed.copy, { readonly: true });
  try {
    return world.upstream.lists.flatMap(({ name }) => {
      const table = tableOf(name);
      const versions = (rows: { key: string; at: string }[]) =>
        new Set(rows.map(({ key, at }) => `${key} as of ${at}`));
      const there = versions(
        copy
          .prepare<[string], { key: string; at: string }>('SELECT key, at FROM rows WHERE dataset = ?')
          .all(table),
      );
      const here = versions(world.sql(`SELECT _key AS key, _changed_at AS at FROM "${table}"`));
      return [
        ...[...here]
          .filter((each) => !there.has(each))
          .map((what): Finding => ({ kind: 'lost', what: `the copy of ${table} has not ${what}` })),
        ...[...there]
          .filter((each) => !here.has(each))
          .map((what): Finding => ({ kind: 'false', what: `the copy of ${table} has ${what}` })),
      ];
    });
  } finally {
    copy.close();
  }
}
