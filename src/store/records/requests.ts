/** The record of every call to the API. */

import { sql } from 'drizzle-orm';
import { drizzle } from 'drizzle-orm/better-sqlite3';
import type { Call } from '../../page.ts';
import type { Connection } from '../db/connection.ts';
import { prepare } from '../db/prepare.ts';
import { requests } from '../schema.ts';

export function createLedger(connection: Connection): { record(call: Call): void } {
  const at = (name: keyof Call) => sql.placeholder(name);
  const insert = prepare(
    connection,
    drizzle(connection)
      .insert(requests)
      .values({
        at: at('at'),
        job: at('job'),
        walkId: at('walkId'),
        url: at('url'),
        status: at('status'),
        ms: at('ms'),
        bytes: at('bytes'),
        requestId: at('requestId'),
        rateLimit: at('rateLimit'),
        rateRemaining: at('rateRemaining'),
        errorCode: at('errorCode'),
      }),
  );
  return { record: (call) => insert.run(call) };
}
