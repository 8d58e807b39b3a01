/** Processes that share an account, each as on a machine of its own: with its own copy, its own clock where that is wanted. */

import { onTestFinished } from 'vitest';
import { type Account, type AccountParts, type AccountProblem, openAccount } from '../../src/account.ts';
import { systemClock } from '../../src/clock.ts';
import { initialState, readState, type State } from '../../src/governor/state.ts';
import { createGovernor, type Governor, type GovernorParts } from '../../src/governor.ts';
import type { Server } from '../queue/setup.ts';

export const ACCOUNT = 'desk';
export const KEY = `market-mirror:limits:${ACCOUNT}`;

export type Machine = {
  account: Account;
  /** Opens the machine's governor, which ends with the test, before the account. */
  govern(parts?: Partial<GovernorParts>): Governor;
  /** What its mirror keeps for its readers. */
  copy: { state: unknown };
  /** What it was told of troubles, in turn. */
  told: (AccountProblem | null)[];
  /** Counts one call more as under way, so that each change shows. */
  count(): Promise<void>;
};

export async function openMachine(
  { url }: Pick<Server, 'url'>,
  given: Partial<AccountParts> & { known?: unknown } = {},
): Promise<Machine> {
  const copy = { state: given.known };
  const told: Machine['told'] = [];
  const account = await openAccount({
    name: ACCOUNT,
    redisUrl: url,
    copy: {
      read: () => copy.state,
      keep: (state) => {
        copy.state = state;
      },
    },
    clock: systemClock,
    random: Math.random,
    onProblem: (problem) => void told.push(problem),
    ...given,
  });
  let governor: Governor | undefined;
  onTestFinished(() => account.close(governor?.close()));
  const govern = (parts: Partial<GovernorParts> = {}) => {
    const longestWaitMs = Number.POSITIVE_INFINITY;
    governor = createGovernor({
      ...{ ...account, clock: systemClock, random: () => 0.5, longestWaitMs },
      ...parts,
    });
    return governor;
  };
  const count = async () =>
    await account.transact((kept) => {
      const state = readState(kept);
      return { state: { ...state, retryCredit: state.retryCredit + 1 }, result: undefined };
    });
  return { account, govern, copy, told, count };
}

/** How often `count` was called, by what Redis has. */
export async function countIn({ client }: Pick<Server, 'client'>): Promise<number> {
  return (await stateIn({ client })).retryCredit - initialState().retryCredit;
}

export async function stateIn({ client }: Pick<Server, 'client'>): Promise<State> {
  return readState(JSON.parse((await client.hget(KEY, 'account')) ?? 'null')?.state);
}
