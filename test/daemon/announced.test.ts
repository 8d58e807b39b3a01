/** A run that is complete is news, whatever becomes of the plan for the next one. */

import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Queue } from 'bullmq';
import { Redis } from 'ioredis';
import { expect, it, onTestFinished } from 'vitest';
import { openConnection } from '../../src/store/connection.ts';
import { daemonHere } from '../helpers/daemon.ts';
import { setupSync } from '../helpers/sync-bench.ts';
import { sharedClock } from '../helpers/virtual-clock.ts';
import { othersOff } from '../helpers/virtual-life.ts';

it('changes are announced though nobody can tell when the dataset is due next', async () => {
  const { environment, file } = await setupSync({ rows: 30 }, sharedClock());
  const edit = (sql: string) => {
    const connection = openConnection(file);
    connection.exec(sql);
    connection.close();
  };
  const settings = {
    PATH: process.env['PATH'],
    ...environment,
    ...othersOff,
    MIRROR_SCHEDULE_AI_SIGNALS: 'off',
    MIRROR_SCHEDULE_NEWS: 'every 1h',
  };
  const { lines } = daemonHere(settings, {
    random: () => 0.5,
    // What the plan is made from cannot be read from here on.
    ended: () => edit("UPDATE _governor SET updated_at = state, state = '{'"),
  });
  onTestFinished(() => edit('UPDATE _governor SET state = updated_at'));
  await expect.poll(() => lines.map(({ msg }) => msg)).toContain('nobody can tell when it is due next');
  const told = join(dirname(file), 'queue.json');
  await expect.poll(() => existsSync(told)).toBe(true);
  const { queue: name, prefix, socket } = JSON.parse(readFileSync(told, 'utf8'));
  const connection = new Redis({ path: socket, maxRetriesPerRequest: null });
  const queue = new Queue(name, { connection, prefix });
  onTestFinished(async () => {
    await queue.close();
    connection.disconnect();
  });
  await expect.poll(async () => (await queue.getJobs()).map(({ name }) => name)).toEqual(['news']);
  expect(lines.map(({ msg }) => msg)).not.toContain('failed');
});
