/** What a schema of an earlier version becomes, in the transaction that claims it. */

import { Failure, toError } from '../../errors.ts';
import type { FollowedJob } from '../../job-list.ts';
import { quoted } from '../../store/read.ts';
import { columnNames, WITH_ROOM } from './make-tables.ts';
import type { Postgres } from './postgres.ts';
import { madeViews, makeView } from './views.ts';
import { togetherSql, volatileName } from './volatile.ts';

/** What a newer market-mirror may change. 2: volatile values lie apart. */
export const VERSION = 2;

/** @throws Failure `incomplete` where views of somebody do not allow it: all stays as it was. */
export async function upgrade(postgres: Postgres, from: number, jobs: readonly FollowedJob[]): Promise<void> {
  if (from === VERSION) return;
  for (const job of jobs) if (job.volatile.length > 0) await takeApart(postgres, job, jobs);
  await postgres.run('UPDATE _mirror SET version = $1', [VERSION]);
}

/** The next shipment of the dataset finds other tables than it left, and compares all of them. */
async function takeApart(postgres: Postgres, job: FollowedJob, jobs: readonly FollowedJob[]): Promise<void> {
  const together = { shown: job.table, rows: job.rows, volatile: volatileName(job) };
  const [rows, volatile, shown] = [together.rows, together.volatile, together.shown].map(quoted);
  const present = await columnNames(postgres, job.table);
  if (present.length === 0) return;
  const isVolatile = (name: string) => job.volatile.includes(name);
  const names = present.filter(isVolatile).map(quoted);
  await postgres.run(
    `ALTER TABLE ${shown} RENAME TO ${rows};
     CREATE TABLE ${volatile}${WITH_ROOM} AS SELECT ${['_key', ...names].join(', ')} FROM ${rows};
     ALTER TABLE ${volatile} ADD PRIMARY KEY (_key);
     ${togetherSql(together, present, isVolatile)}`,
  );
  // They rest on the table, whatever it is called now, and shall on the view.
  for (const view of await madeViews(postgres, jobs)) await makeView(postgres, view);
  try {
    const drops = names.map((name) => `DROP COLUMN ${name}`);
    await postgres.attempt(() => postgres.run(`ALTER TABLE ${rows} ${drops.join(', ')}`));
  } catch (thrown) {
    const { detail = '' } = (toError(thrown).cause ?? {}) as { detail?: string };
    throw new Failure(
      'incomplete',
      `${postgres.name}: ${names.join(' and ')} of ${shown} move to a table of their own, but views of somebody rest on them: drop these, ship, and make them again (${detail.replaceAll('\n', '; ')})`,
      { cause: thrown },
    );
  }
}
