/** A daemon to be killed: runs a private Redis under the folder it is given, and says when it is ready. */

import pino from 'pino';
import { startPrivateRedis } from '../../src/queue/private-redis.ts';

await startPrivateRedis({ dir: process.argv[2] ?? '', log: pino({ enabled: false }) });
process.on('SIGINT', () => process.stdout.write('interrupted\n'));
process.stdout.write('ready\n');
setInterval(() => {}, 1_000);
