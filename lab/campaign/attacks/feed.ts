/** A service and a client that keeps a copy by its change feed, both killed at any moment while the daemon is, too. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import Database from 'better-sqlite3';
import type { Random } from '../../../model-api/index.ts';
import type { Running } from '../../../test/helpers/cli.ts';
import { freePort } from '../../../test/helpers/loopback.ts';
import type { Finding } from '../checks.ts';
import { tableOf, type World } from '../world.ts';
import { type Attack, type End, expectThat } from './attack.ts';

export const feedAttacks: readonly Attack[] = [
  {
    name: 'feed',
    about: 'the service and a client of its change feed are killed at any moment',
    lasts: [4_000, 8_000],
    kills: true,
    isOfFollowers: true,
    begin,
  },
];

/** What a world has of it: a key, an address and the copy. */
export type Feed = { url: string; key: string; copy: string; counts: { killed: number } };

const consumer = fileURLToPath(new URL('../world/feed-consumer.ts', import.meta.url));
/** A process that starts takes about so long; a kill falls before or after. */
const LONGEST_MS = 1_500;

async function begin(world: World, random: Random): Promise<End> {
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
  expectThat(code === 0, 'a key can be made beside a daemon');
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

/** The copy has every row of the mirror in its version, and no other. Nothing where nobody has followed. */
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
