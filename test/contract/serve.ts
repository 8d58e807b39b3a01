/** `market-mirror serve` under the suite, over a mirror of the model API. */

import { readdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';
import { gate } from '../helpers/gate.ts';
import { openServeBench, type ServeBench } from '../helpers/serve-bench.ts';
import type { Account, AccountLimits, Held, Resume, Service } from './implementation.ts';

const rows = { aiSignals: 123, news: 112, smartWallets: 101, memeSignals: 134 };

/** The service looks once a second whether the mirror is there. */
const LOOK_EVERY_MS = 1_000;

export async function startServe(): Promise<Service> {
  const calls = createHolder();
  const serve = await openServeBench({ rows, beforeAnswer: calls.pass });
  const { bench, url } = serve;
  const { data } = bench.model;
  let accounts = 0;
  return {
    rows: {
      'ai-signals': data.aiSignals.rows,
      news: data.news.rows,
      'smart-wallets': data.smartWallets.rows,
      'meme-signals': data.memeSignals.rows,
    },
    async openAccount(limits = {}) {
      accounts += 1;
      return accountOf(serve, url, `account-${accounts}`, limits);
    },
    advance: (ms) => bench.clock.advance(ms),
    hold: calls.hold,
    interrupt: () => interrupt(serve),
    recorded: () => [serve.log(), ...filesIn(bench.dir)].join('\n'),
    close: serve.close,
  };
}

function accountOf(serve: ServeBench, url: string, account: string, limits: AccountLimits): Account {
  const ids = new Map<string, string>();
  const { quota, rate, concurrency } = limits;
  const ours = {
    ...(quota && { quota: { ...quota, kind: 'fixed' as const } }),
    ...(rate && { rate }),
    ...(concurrency !== undefined && { concurrency }),
  };
  return {
    url,
    async issueKey({ scopes, expiresInMs, addresses = null }) {
      const expiresAt = expiresInMs === undefined ? null : serve.bench.clock.now() + expiresInMs;
      const terms = { name: account, account, scopes, addresses, expiresAt };
      const { key, record } = serve.issue(terms, ids.size === 0 ? ours : undefined);
      ids.set(key, record.id);
      return key;
    },
    revokeKey: (key) => serve.revoke(ids.get(key) ?? ''),
  };
}

function createHolder() {
  let held = 0;
  let closed: Promise<void> | undefined;
  return {
    async pass() {
      if (!closed) return;
      held += 1;
      await closed;
      held -= 1;
    },
    hold(): Held {
      const { open, passed } = gate();
      closed = passed;
      return {
        count: () => held,
        release() {
          closed = undefined;
          open();
        },
      };
    },
  };
}

/** Takes the mirror away, as an operator might who moves it. */
function interrupt({ bench }: ServeBench): Resume {
  const move = (from: string, to: string) => {
    renameSync(join(bench.dir, from), join(bench.dir, to));
    bench.clock.advance(LOOK_EVERY_MS);
  };
  move('mirror.db', 'mirror.moved');
  return () => {
    try {
      move('mirror.moved', 'mirror.db');
    } catch {
      // It is back already.
    }
  };
}

const filesIn = (dir: string) =>
  readdirSync(dir, { withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ name }) => readFileSync(join(dir, name), 'latin1'));
