/** A daemon that closes in the circumstances it is given, and must then end by itself: no exit here. */

import pino from 'pino';
import { startQueue } from '../../src/queue.ts';
import { gate } from '../helpers/gate.ts';
import { freePort } from '../helpers/loopback.ts';
import { untilAborted } from './setup.ts';

const [where, dir = ''] = process.argv.slice(2);
const log = pino({ enabled: false });
const redis = where === 'Redis never came' ? { url: `redis://127.0.0.1:${await freePort()}` } : { dir };
const begun = gate();
let isStopped = false;
const queue = startQueue({
  redis,
  prefix: 'market-mirror',
  schedules: { news: { every: 3_600_000 }, usage: { cron: '0 0 1 1 *' } },
  lastRun: () => null,
  async run(_, signal) {
    begun.open();
    await untilAborted(signal).catch(() => undefined);
    isStopped = true;
    throw signal.reason;
  },
  log,
});
await begun.passed;
const closing = performance.now();
await queue.close();
const at = isStopped ? 'at the page boundary' : 'before its run was stopped';
process.stdout.write(`closed ${at} in ${Math.round(performance.now() - closing)}\n`);
