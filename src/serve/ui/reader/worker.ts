/** The thread that reads for the page: each answer from one moment of the mirror. */

import { readMirror, storeFailure } from '../../../store/read.ts';
import type { ReaderRequest } from '../reader.ts';
import { overviewOf } from './overview.ts';
import { schemaOf } from './schema.ts';

/** @returns an Overview or a Schema, as JSON. */
export function readForPage({ what, parts, now }: ReaderRequest): string {
  try {
    const read = readMirror(parts.dir, (connection) =>
      what === 'overview' ? overviewOf(connection, parts, now) : schemaOf(connection, parts.jobs),
    );
    return JSON.stringify(read);
  } catch (thrown) {
    throw storeFailure(thrown, parts.dir);
  }
}
