/** A way to a Postgres on which connections are lost. */

import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';

export type Cutting = {
  port: number;
  /** How many pieces clients have sent. */
  sent: () => number;
  close(): void;
};

/**
 * @param folder where the socket of the server lies.
 * @param isCut told of each piece that a client sends, with its number; `after`: it arrives, its answer does not.
 */
export async function startCuttingProxy(
  folder: string,
  isCut: (piece: string, number: number) => 'before' | 'after' | false,
): Promise<Cutting> {
  let sent = 0;
  const open = new Set<Socket>();
  const server = createServer((client) => {
    const there = connect(join(folder, '.s.PGSQL.5432'));
    const cut = () => {
      client.destroy();
      there.destroy();
    };
    let isLast = false;
    for (const socket of [client, there]) {
      open.add(socket);
      socket.on('error', cut).on('close', () => {
        open.delete(socket);
        cut();
      });
    }
    // Slow on one side, slow on the other.
    there.on('data', (piece) => {
      if (isLast) return cut();
      if (!client.write(piece)) there.pause();
    });
    client.on('drain', () => there.resume());
    there.on('drain', () => client.resume());
    client.on('data', (piece) => {
      sent += 1;
      const how = isCut(piece.toString('latin1'), sent);
      if (how === 'before') return cut();
      isLast ||= how === 'after';
      if (!there.write(piece)) client.pause();
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    port,
    sent: () => sent,
    close() {
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
}
