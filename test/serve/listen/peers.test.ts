import { request } from 'node:http';
import { networkInterfaces } from 'node:os';
import { expect, test } from 'vitest';
import { peersOf } from '../../../src/serve/http/server.ts';
import { hello, listening } from './support.ts';

const here = '192.0.2.2';

test.each([
  ['127.0.0.1', '127.0.0.1', true],
  ['::1', '::1', true],
  ['::ffff:127.0.0.1', '::ffff:127.0.0.1', true],
  [here, here, true],
  ['10.0.0.7', here, true],
  ['::ffff:10.0.0.7', `::ffff:${here}`, true],
  ['10.0.0.8', here, false],
  ['192.0.2.3', here, false],
  [undefined, here, false],
])(
  'without TLS only this machine and the proxies may connect: %s to %s',
  (remoteAddress, localAddress, may) => {
    expect(peersOf(['10.0.0.7'])({ remoteAddress, localAddress })).toBe(may);
  },
);

/** An address by which this machine is somebody else to itself. */
const outer = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .find(({ internal, family }) => !internal && family === 'IPv4')?.address;

const statusFor = (port: number, localAddress: string) =>
  new Promise((resolve) => {
    const asked = request({ port, host: '127.0.0.1', localAddress }).end();
    asked.on('response', (answer) => resolve(answer.resume().statusCode));
    asked.on('error', ({ code }: NodeJS.ErrnoException) => resolve(code));
  });

test.skipIf(outer === undefined)('others are turned away, which is said once', async () => {
  const { port, said } = await listening(hello, {}, { host: '0.0.0.0', proxies: ['10.0.0.7'] });
  expect(await statusFor(port, '127.0.0.1')).toBe(200);
  expect(await statusFor(port, outer ?? '')).toBe('ECONNRESET');
  expect(await statusFor(port, outer ?? '')).toBe('ECONNRESET');
  expect(said).toEqual([{ level: 'warn', text: expect.stringContaining('MIRROR_SERVE_TRUST') }]);
  const open = await listening(hello, {}, { host: '0.0.0.0', proxies: [outer ?? ''] });
  expect(await statusFor(open.port, outer ?? '')).toBe(200);
});
