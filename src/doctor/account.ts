/** The account whose limits this mirror shares with others, as Redis has it. Nothing is changed there. */

import { examineAccount } from '../account.ts';
import type { Config } from '../config.ts';
import { type Check, ok, problemOf } from './check.ts';

export async function checkAccount(account: NonNullable<Config['account']>): Promise<Check> {
  const check = 'account-limits';
  try {
    const { processes } = await examineAccount(account);
    const shared =
      processes === null
        ? 'nothing is known of them there yet'
        : `${processes} ${processes === 1 ? 'process' : 'processes'} shared them within the hour`;
    return ok(check, `those of ${account.name} are within reach; ${shared}`);
  } catch (thrown) {
    return problemOf(check, thrown);
  }
}
