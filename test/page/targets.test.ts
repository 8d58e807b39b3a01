import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { isoTime } from '../../src/clock.ts';
import type { SinkNote } from '../../src/reading/status.ts';
import { isLock, tryLock } from '../../src/store.ts';
import { type Lived, openLived } from './lived.ts';
import { expectNoFaults } from './support.ts';

let lived: Lived;
beforeAll(async () => {
  lived = await openLived();
});
afterAll(() => lived.close());

/** A daemon that has noted this of its targets. */
function daemonWith(notes: { ship?: SinkNote; lake?: SinkNote }): void {
  const lock = tryLock(lived.bench.dir, 'daemon');
  if (!isLock(lock)) throw new Error('a daemon holds the folder');
  onTestFinished(lock.release);
  lock.note(JSON.stringify({ queue: null, serve: null, ...notes }));
  // Longer than an overview is kept.
  lived.bench.clock.advance(2_000);
}

const arrived = () =>
  Object.fromEntries(
    lived.bench
      .sql<{ job: string; seq: number }>(
        'SELECT job, last_seq AS seq FROM datasets WHERE last_seq IS NOT NULL',
      )
      .map(({ job, seq }) => [job, seq]),
  );

const panel = async () => {
  const { page } = await lived.visit('/');
  return { page, panel: page.getByRole('region', { name: 'Follows the mirror' }) };
};

test('one that is far behind without a word is a problem, too', async () => {
  daemonWith({ ship: { seqs: {}, trouble: null } });
  const { page, panel: shown } = await panel();
  expect(await shown.getByRole('listitem').innerText()).toMatch(/on its way/);
  const problem = page.getByRole('listitem').filter({ hasText: 'Postgres is' });
  expect(await problem.innerText()).toMatch(/Postgres is \d+ changes behind, the oldest by \d+ minutes/);
});

test('who ships nothing sees nothing of it', async () => {
  daemonWith({});
  expect(await (await panel()).panel.count()).toBe(0);
});

test('each target says whether all changes have arrived, or how many have not, how old they are and what helps', async () => {
  const now = lived.bench.clock.now();
  const [seqs, nextTry] = [arrived(), isoTime(now + 30_000)];
  const trouble = { message: 'Postgres db:5432/reports cannot be reached (ECONNREFUSED)', nextTry };
  const { 'ai-signals': _, ...others } = seqs;
  daemonWith({
    ship: { seqs: others, trouble: { ...trouble, since: isoTime(now - 600_000) } },
    lake: { seqs, trouble: null },
  });
  const [missing] = lived.bench.sql<{ changes: number }>(
    `SELECT sum(inserted + updated + deleted) AS changes FROM walks WHERE job = 'ai-signals'`,
  );
  const { page, panel: shown } = await panel();
  const [postgres = '', lake = ''] = await shown.getByRole('listitem').allInnerTexts();
  expect(postgres).toContain(`${missing?.changes} changes behind, the oldest 2h`);
  expect(postgres).toContain('Nothing has arrived since');
  expect(postgres).toContain(trouble.message);
  expect(postgres).toMatch(/→ The daemon tries again (in \d+s|now).*docs\/ship\.md/);
  expect(lake).toMatch(/Lake up to date all changes have arrived/);
  const problem = page.getByRole('listitem').filter({ hasText: 'nothing has arrived in Postgres since' });
  expect(await problem.count()).toBe(1);
  await expectNoFaults(lived, '/');
});
