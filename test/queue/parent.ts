/** A daemon to be killed: runs a private Redis under the folder it is given, and says so. */

import pino from 'pino';
import { startPrivateRedis } from '../../src/queue/private-redis.ts';

startPrivateRedis({ dir: process.argv[2] ?? '', log: pino({ enabled: false }) });
process.on('SIGINT', () => process.stdout.write('interrupted\n'));
process.stdout.write('started\n');
setInterval(() => {}, 1_000);
