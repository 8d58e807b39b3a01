/** Processes of an account that are killed, and a Redis that loses what it knew: the others go on within the limits. */

import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { type Call, scopes } from '../../model-api/index.ts';
import { openRemoteState } from '../../src/account/remote-state.ts';
import { parseRedisUrl } from '../../src/config.ts';
import { initialState, type State } from '../../src/governor/state.ts';
import { CANARY, idsOf, truth } from '../helpers/sync-bench.ts';
import { until } from '../queue/setup.ts';
import { KEY, stateIn } from './bench.ts';
import { setup } from './processes.ts';

const keys = ['one', 'two'].map((id) => ({ id, key: `${CANARY}-${id}`, scopes: [...scopes] }));
/** Of one account, which allows two calls at once: the first is killed with calls under way. */
const options = { rows: 1_000, keys, concurrency: 2, latencyMs: 20 };

const AI_AND_NEWS = { MIRROR_SCHEDULE_AI_SIGNALS: 'every 1s', MIRROR_SCHEDULE_NEWS: 'every 1s' };

/** Two processes that know that; the first holds permits, and its calls are under way until their line is cut. */
async function twoOf(...command: string[]) {
  let isHeld = false;
  const bench = await setup({
    ...options,
    beforeAnswer: async ({ keyId }) => {
      if (isHeld && keyId === 'one') await new Promise(() => undefined);
    },
  });
  const { model, machine, server } = bench;
  const learnt = { proven: 2, streak: 0, refused: 3, steadyCalls: 0, callsBeforeTrial: 10_000 };
  await inKept(server, (state) => Object.assign(state.concurrency, learnt));
  const [one, two] = keys.map(({ key }) =>
    machine({ ...AI_AND_NEWS, MARKET_API_KEY: key }).start(...command),
  );
  if (!one || !two) throw new Error('not started');
  const isOfOne = (name: string) => name.includes(`:${one.child.pid}:`);
  const leaseOfOne = async () =>
    Object.entries((await stateIn(server)).leases).find(([name]) => isOfOne(name))?.[1];
  const isAnswered = (id: string) => model.calls.some(({ keyId, sent }) => sent && keyId === id);
  await until('both to walk', () => isAnswered('one') && isAnswered('two'));
  isHeld = true;
  const held = ({ keyId, status }: Call) => keyId === 'one' && status === null;
  await until('its calls', async () => model.calls.some(held) && (await leaseOfOne())?.permits);
  return { ...bench, one, two, isOfOne };
}

/** What became of the calls of the other since the first was killed. */
function after({ calls }: { calls: readonly Call[] }) {
  const before = calls.length;
  const since = () => calls.slice(before);
  return {
    since,
    refused: () => since().filter(({ status }) => status === 429).length,
    goesOn: () =>
      until('calls, two of them at once', () => {
        const answered = since().filter(({ status, inFlight }) => status === 200 && inFlight === 2);
        return answered.length > 0;
      }),
  };
}

test('a daemon that is killed with calls under way leaves its permits to one of another machine two minutes after its last word, by the clock of Redis', async () => {
  const { one, two, model, server, isOfOne } = await twoOf('start');
  one.child.kill('SIGSTOP');
  // As a machine that died has it, whose last word is older.
  const lost = await inKept(server, ({ leases }) => {
    const [name = '', lease] = Object.entries(leases).find(([name]) => isOfOne(name)) ?? [];
    if (!lease) throw new Error('it holds nothing');
    delete leases[name];
    leases['elsewhere:1:other:dead'] = { ...lease, heardAt: Date.now() - 118_500 };
    return leases['elsewhere:1:other:dead'];
  });
  one.child.kill('SIGKILL');
  await one.ended;
  const { since, goesOn, refused } = after(model);
  await goesOn();
  const left = 2 - Math.min(lost.permits, lost.maxInFlight);
  for (const { at, inFlight } of since())
    if (at < lost.heardAt + 120_000) expect(inFlight).toBeLessThanOrEqual(left);
  expect((await stateIn(server)).leases).not.toHaveProperty('elsewhere:1:other:dead');
  expect(refused()).toBe(0);
  expect(two.child.exitCode).toBeNull();
});

test('a Redis that is flushed while two mirror costs neither of them its pass, and hardly a call', async () => {
  const { model, machine, server } = await setup(options);
  const machines = keys.map(({ key }) => machine({ MARKET_API_KEY: key }));
  const syncs = machines.map(({ start }) => start('sync', 'ai-signals', 'news'));
  await until('some calls', () => model.calls.length > 20);
  const refused = () => model.calls.filter(({ status }) => status === 429).length;
  const before = refused();
  await server.client.flushall();
  for (const { ended } of syncs) expect(await ended).toMatchObject({ code: 0 });
  for (const { file } of machines) expect(idsOf(file)).toEqual(truth(model));
  expect(refused() - before).toBeLessThanOrEqual(3);
  expect(await server.client.exists(KEY)).toBe(1);
});

/** Changes what is kept in Redis, as one who shares it would. */
async function inKept<T>({ url }: { url: string }, change: (state: State) => T): Promise<T> {
  const remote = openRemoteState(parseRedisUrl(url), KEY);
  try {
    for (;;) {
      const { revision, text } = await remote.read();
      const kept = text === '' ? { version: 3, state: initialState(), processes: {} } : JSON.parse(text);
      const result = change(kept.state);
      if ((await remote.replace(revision, randomUUID(), JSON.stringify(kept))).isDone) return result;
    }
  } finally {
    remote.close();
  }
}
