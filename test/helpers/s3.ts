/** A model of S3 for a test, which goes with it. */

import { onTestFinished } from 'vitest';
import { type S3, startS3Server } from './s3-server.ts';

export { fetchInto, type S3, SECRET } from './s3-server.ts';

export async function startS3(): Promise<S3> {
  const server = await startS3Server();
  onTestFinished(server.close);
  return server;
}
