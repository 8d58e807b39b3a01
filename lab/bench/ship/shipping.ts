/** A mirror, a Postgres that follows it, and `market-mirror ship` between them, as whole processes. */

import { spawnSync } from 'node:child_process';
import pg from 'pg';
import {
  addressOf,
  type PostgresServer,
  postgresProgram,
  startPostgres,
} from '../../../test/helpers/postgres-server.ts';
import { type Measured, measureNode } from '../../passes/measured.ts';
import { cli } from '../../passes/programs.ts';

export type Shipping = {
  /** The folder of the mirror. */
  folder: string;
  server: PostgresServer;
  /** Asks Postgres in the schema of the mirror. */
  query<Row extends object>(sql: string): Promise<Row[]>;
  /** `market-mirror ship` of both datasets. @param dir of another mirror, which goes to a schema of this name. */
  ship(dir?: string, schema?: string): Promise<Measured>;
  /** Seconds that `psql` takes for some of its commands. */
  psql(...commands: string[]): number;
};

export const SCHEMA = 'market_mirror';

export async function withShipping<T>(folder: string, use: (shipping: Shipping) => Promise<T>): Promise<T> {
  // With what Postgres has by itself: whoever measures COPY there measures its log and its fsync, too.
  const server = startPostgres([]);
  const client = new pg.Client({ host: server.folder, user: 'postgres', database: 'postgres' });
  try {
    await client.connect();
    await client.query(`SET search_path = ${SCHEMA}`);
    const address = addressOf(server.folder, 'postgres');
    return await use({
      folder,
      server,
      query: async (sql) => (await client.query(sql)).rows,
      ship: (dir = folder, schema = SCHEMA) =>
        measureNode([cli(), 'ship', 'ai-signals', 'news'], {
          MIRROR_DIR: dir,
          MIRROR_SHIP: `${address}&schema=${schema}`,
        }),
      psql(...commands) {
        const began = performance.now();
        const { status, stderr } = spawnSync(
          postgresProgram('psql'),
          ['-X', '-q', '-h', server.folder, '-U', 'postgres', ...commands.flatMap((one) => ['-c', one])],
          { encoding: 'utf8' },
        );
        if (status !== 0) throw new Error(stderr);
        return (performance.now() - began) / 1_000;
      },
    });
  } finally {
    await client.end();
    server.stop();
  }
}
