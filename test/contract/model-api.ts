/** The model API under the suite. Its limits are those of one account, so every account is a model of its own. */

import { faults, type ModelApi, type ModelOptions, startModelApi } from '../../model-api/index.ts';
import { gate } from '../helpers/gate.ts';
import { virtualClock } from '../helpers/virtual-clock.ts';
import type { Account, AccountLimits, Held, Resume, Service } from './implementation.ts';

const rows = { aiSignals: 123, news: 112, smartWallets: 101, memeSignals: 134 };

export async function startModel(): Promise<Service> {
  const clock = virtualClock();
  const models: ModelApi[] = [];
  const open = async (limits: ModelOptions) => {
    const model = await startModelApi({ rows, now: clock.now, keys: [], ...limits });
    models.push(model);
    return model;
  };
  const { data } = await open({});
  return {
    rows: {
      'ai-signals': data.aiSignals.rows,
      news: data.news.rows,
      'smart-wallets': data.smartWallets.rows,
      'meme-signals': data.memeSignals.rows,
    },
    openAccount: async (limits = {}) => accountOf(await open(optionsOf(limits)), clock.now),
    advance: clock.advance,
    hold: () => hold(models),
    interrupt: () => interrupt(models),
    recorded: () => JSON.stringify(models.map(({ calls }) => calls)),
    async close() {
      await Promise.all(models.map((model) => model.close()));
    },
  };
}

function optionsOf({ quota, rate, concurrency }: AccountLimits): ModelOptions {
  return {
    ...(quota && { quota: { limit: quota.calls, periodMs: quota.periodMs } }),
    ...(rate && { rate: { perSecond: (1_000 * rate.calls) / rate.periodMs, burst: rate.burst } }),
    ...(concurrency !== undefined && { concurrency }),
  };
}

function accountOf(model: ModelApi, now: () => number): Account {
  return {
    url: model.url,
    async issueKey({ scopes, expiresInMs, addresses }) {
      const id = `k${model.keys.length}`;
      const key = `key-${id}-of-account-${model.port}`;
      model.keys.push({
        id,
        key,
        scopes,
        ...(expiresInMs !== undefined && { expiresAt: now() + expiresInMs }),
        ...(addresses && { ips: addresses }),
      });
      return key;
    },
    revokeKey(key) {
      for (const known of model.keys) if (known.key === key) known.active = false;
    },
  };
}

function hold(models: readonly ModelApi[]): Held {
  let count = 0;
  const { open: release, passed } = gate();
  for (const model of models)
    model.beforeAnswer = async () => {
      count += 1;
      await passed;
      count -= 1;
    };
  return { count: () => count, release };
}

function interrupt(models: readonly ModelApi[]): Resume {
  for (const model of models) model.faults = [() => faults.refuse(503)];
  return () => {
    for (const model of models) model.faults = [];
  };
}
