/** The thread that reads for the page: each answer from one moment of the mirror. */

import { parentPort, workerData } from 'node:worker_threads';
import { sentFailure } from '../../../errors.ts';
import { readMirror, storeFailure } from '../../../store/read.ts';
import type { AnsweredByReader, AskedOfReader, ReaderParts } from '../reader.ts';
import { overviewOf } from './overview.ts';
import { schemaOf } from './schema.ts';

const parts = workerData as ReaderParts;

parentPort?.on('message', (asked: AskedOfReader) => parentPort?.postMessage(answer(asked)));

function answer({ what, now }: AskedOfReader): AnsweredByReader {
  try {
    const read = readMirror(parts.dir, (connection) =>
      what === 'overview' ? overviewOf(connection, parts, now) : schemaOf(connection, parts.jobs),
    );
    return { json: JSON.stringify(read) };
  } catch (thrown) {
    return sentFailure(storeFailure(thrown, parts.dir));
  }
}
