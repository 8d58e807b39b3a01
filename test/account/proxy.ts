/** An address that stands before a Redis, as one that follows a failover does; the way back of an answer may be cut. */

import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { onTestFinished } from 'vitest';

export async function proxyTo(port: number) {
  let target = port;
  let lost: { pattern: RegExp; left: number } | undefined;
  const open = new Set<Socket>();
  const proxy = createServer((socket) => {
    const there = connect(target, '127.0.0.1');
    let cuts = false;
    socket.on('data', (data) => {
      if (lost?.pattern.test(data.toString())) {
        lost.left -= 1;
        cuts = lost.left === 0;
        if (cuts) lost = undefined;
      }
      there.write(data);
    });
    there.on('data', (data) => (cuts ? socket.destroy() : socket.write(data)));
    for (const end of [socket, there]) end.on('error', () => undefined);
    open.add(socket);
    socket.on('close', () => open.delete(socket) && there.destroy());
    there.on('close', () => socket.destroy());
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  onTestFinished(() => void proxy.close());
  return {
    url: `redis://127.0.0.1:${(proxy.address() as { port: number }).port}`,
    /** Of the `nth` command from now on that matches. */
    loseReplyOf(pattern: RegExp, nth: number) {
      lost = { pattern, left: nth };
    },
    /** Leads to another Redis from now on; lines that are open are cut. */
    leadTo(port: number) {
      target = port;
      for (const socket of open) socket.destroy();
    },
  };
}
