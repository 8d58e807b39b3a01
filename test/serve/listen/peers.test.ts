import { expect, test } from 'vitest';
import { peersOf } from '../../../src/serve/listen/peers.ts';

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
