import { expect, it } from 'vitest';
import { faults, when } from '../../model-api/index.ts';
import { isoTime } from '../../src/base/clock.ts';
import { daemonHere } from '../helpers/daemon.ts';
import { read, setupSync } from '../helpers/sync-bench.ts';
import { hastyClock, sharedClock } from '../helpers/virtual-clock.ts';
import { othersOff } from '../helpers/virtual-life.ts';

it('a walk whose first page had to wait is next due an interval after that page, and not before it was read', async () => {
  const { environment, file, model } = await setupSync({ rows: 30 }, sharedClock());
  model.faults.push(when({ endpoint: 'news', nth: 1 }, faults.refuse(429, { retryAfter: '20' })));
  const schedules = { ...othersOff, MIRROR_SCHEDULE_AI_SIGNALS: 'off', MIRROR_SCHEDULE_NEWS: 'every 10m' };
  daemonHere({ ...environment, ...schedules }, { clock: hastyClock(20) });
  const found = () =>
    read<{ due: string; asked: string; waited: number }>(
      file,
      `SELECT next_due_at AS due, complete_as_of AS asked,
         complete_as_of > (SELECT strftime('%Y-%m-%dT%H:%M:%fZ', min(at), '+1 seconds') FROM requests) AS waited
       FROM freshness WHERE job = 'news' AND complete_as_of IS NOT NULL`,
    )[0];
  await expect.poll(found, { timeout: 30_000 }).toMatchObject({ waited: 1 });
  const { due, asked } = found() ?? { due: '', asked: '' };
  expect(due).toBe(isoTime(Date.parse(asked) + 600_000));
}, 60_000);
