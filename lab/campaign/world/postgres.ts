/** A Postgres that follows the mirror, and ways to it on which connections are lost. */

import pg from 'pg';
import { startCuttingProxy } from '../../../test/helpers/cutting-proxy.ts';
import { addressOf, startPostgres } from '../../../test/helpers/postgres-server.ts';

export type ShipTarget = {
  /** As MIRROR_SHIP takes it. */
  url: string;
  /** How many shippers were started and killed, and how many connections were cut. */
  counts: { started: number; killed: number; cut: number; atCommit: number };
  /** @param isCut see `startCuttingProxy`. @returns another address, and what closes it. */
  wayTo(isCut: Parameters<typeof startCuttingProxy>[1]): Promise<{ url: string; close(): void }>;
  /** Asks in the schema of the mirror. */
  query<Row extends object>(sql: string): Promise<Row[]>;
  close(): Promise<void>;
};

export async function openShipTarget(): Promise<ShipTarget> {
  const server = startPostgres();
  const client = new pg.Client({ host: server.folder, user: 'postgres', database: 'postgres' });
  await client.connect();
  await client.query('SET search_path = market_mirror; SET TimeZone = UTC');
  return {
    url: addressOf(server.folder, 'postgres'),
    counts: { started: 0, killed: 0, cut: 0, atCommit: 0 },
    async wayTo(isCut) {
      const { port, close } = await startCuttingProxy(server.folder, isCut);
      return { url: `postgres://postgres@127.0.0.1:${port}/postgres`, close };
    },
    query: async (sql) => (await client.query(sql)).rows,
    async close() {
      await client.end();
      server.stop();
    },
  };
}
