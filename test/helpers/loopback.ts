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

/** Nobody listens on it; another process may take it meanwhile. */
export async function freePort(): Promise<number> {
  const { port, close } = await listenOnLoopback(createServer());
  await close();
  return port;
}
