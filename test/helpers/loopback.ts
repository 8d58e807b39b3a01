/** Ports of this machine: one that is free, and one that listens. */

import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';

export type Listening = {
  port: number;
  /** Without a slash at its end. */
  url: string;
  /** Cuts whoever is still connected. */
  close(): Promise<void>;
};

/** @param server of HTTP, or any other. @param port a free one unless given. */
export async function listenOnLoopback(server: Server, port = 0): Promise<Listening> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const taken = (server.address() as { port: number }).port;
  return {
    port: taken,
    url: `http://127.0.0.1:${taken}`,
    async close() {
      const closed = once(server, 'close');
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

/** Below the ports that the system gives to whoever connects: one of those may be another's at any moment. */
const OURS = { from: 10_000, to: 32_000 };

/** Nobody listens on it, and hardly anybody will. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = OURS.from + Math.floor(Math.random() * (OURS.to - OURS.from));
    const server = createServer();
    try {
      const { close } = await listenOnLoopback(server, port);
      await close();
      return port;
    } catch {
      // It is another's.
    }
  }
}
