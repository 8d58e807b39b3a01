/** The thread that reads for the page: each answer from one moment of the mirror. */

import { workerData } from 'node:worker_threads';
import { readMirror, storeFailure } from '../../../store/read.ts';
import { answerAll } from '../../../thread.ts';
import type { AskedOfReader, ReadByReader, ReaderParts } from '../reader.ts';
import { overviewOf } from './overview.ts';
import { schemaOf } from './schema.ts';

const parts = workerData as ReaderParts;

answerAll(({ what, now }: AskedOfReader): ReadByReader => {
  try {
    const read = readMirror(parts.dir, (connection) =>
      what === 'overview' ? overviewOf(connection, parts, now) : schemaOf(connection, parts.jobs),
    );
    return { json: JSON.stringify(read) };
  } catch (thrown) {
    throw storeFailure(thrown, parts.dir);
  }
});
