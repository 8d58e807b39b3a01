import { expect, onTestFinished, test } from 'vitest';
import type { Failure } from '../../../src/errors.ts';
import { openCounts } from '../../../src/serve/service/counts.ts';
import { openServeDatabase } from '../../../src/serve/service/database.ts';
import { nothingCounted, takeCall, unlimited } from '../../../src/serve/service/limits.ts';
import { limitsOf, setupKeys } from '../support.ts';

const ACCOUNTS = 300;

test('a full disk is told once; what could not be written then is written when there is room', () => {
  const { dir, create } = setupKeys();
  const limits = { ...unlimited, ...limitsOf('1000/1h,sliding') };
  const accounts = Array.from(
    { length: ACCOUNTS },
    (_, n) => create({ name: `account ${n}` }).record.account,
  );
  const connection = openServeDatabase(dir);
  onTestFinished(() => void connection.close());
  const told: (Failure | null)[] = [];
  const due: (() => void)[] = [];
  const written = openCounts(
    connection,
    () => 0,
    (trouble) => told.push(trouble),
    (work) => due.push(work),
  );
  const aSecondLater = () => {
    for (const work of due.splice(0)) work();
  };
  const kept = () => connection.prepare('SELECT count(*) FROM counters').pluck().get();

  connection.pragma(`max_page_count = ${connection.pragma('page_count', { simple: true })}`);
  const { state } = takeCall(nothingCounted, 1, limits, 0, true);
  for (const account of accounts) written.saveState(account, state, 1);
  aSecondLater();
  written.saveState('account 0', takeCall(state, 2, limits, 0, true).state, 2);
  aSecondLater();
  expect(told).toEqual([
    expect.objectContaining({ kind: 'disk', message: expect.stringContaining('the disk is full') }),
  ]);
  expect(kept(), 'all or nothing').toBe(0);

  connection.pragma('max_page_count = 1000000');
  aSecondLater();
  expect([told.length, told[1], kept()]).toEqual([2, null, ACCOUNTS]);
  const latest = connection
    .prepare("SELECT state ->> '$.quota.slots[0][1]' FROM counters WHERE account = ?")
    .pluck();
  expect([latest.get('account 0'), latest.get('account 1')]).toEqual([2, 1]);
  expect(due, 'nothing more is due').toEqual([]);

  const changes = connection.prepare<[], number>('SELECT total_changes()').pluck();
  const before = changes.get() ?? 0;
  written.saveState('account 1', state, 3);
  aSecondLater();
  expect((changes.get() ?? 0) - before, 'what is written is not written again').toBe(1);
});
