/** A lake in a bucket: of AWS, or of any service that speaks S3 and puts a file only where there is none. */

import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { Failure } from '../../errors.ts';
import { openRequests, type RequestParts } from './s3/requests.ts';
import { listedIn } from './s3/xml.ts';
import { type Spool, type Spooled, spooled, sweepSpools } from './spool.ts';
import type { Storage } from './storage.ts';

export type S3Parts = RequestParts & {
  bucket: string;
  /** Empty, or with a slash at its end. */
  prefix: string;
  /** A folder for files until they are sent. */
  way: string;
};

/** @throws Failure `config` where bucket or rights are not what they must be, `incomplete` where it cannot be reached. */
export async function openS3(parts: S3Parts): Promise<Storage> {
  const { bucket, prefix, way, clock } = parts;
  const shown = `s3://${bucket}/${prefix}`;
  const { request, close } = await openRequests(parts, shown);
  sweepSpools(way, clock.now());

  async function send(
    path: string,
    make: (spool: Spool) => void,
    isNew: boolean,
  ): Promise<Spooled | undefined> {
    return await spooled(way, make, async (file) => {
      if (file.bytes > MOST_BYTES)
        throw new Failure(
          'disk',
          `${shown}${path}: ${file.bytes} bytes are more than one PUT may have (5 GB)`,
        );
      const { status } = await request({
        method: 'PUT',
        key: prefix + path,
        headers: isNew ? { 'if-none-match': '*' } : {},
        body: { ...file, open: () => createReadStream(file.path) },
        expected: isNew ? [200, 412] : [200],
      });
      return status === 200 ? file : undefined;
    });
  }

  return {
    shown,
    async list(folder) {
      const below = folder === '' ? prefix : `${prefix}${folder}/`;
      const found: { folders: string[]; files: string[] } = { folders: [], files: [] };
      for (let token: string | undefined = ''; token !== undefined; ) {
        const query: Record<string, string> = {
          'list-type': '2',
          delimiter: '/',
          prefix: below,
          ...(token && { 'continuation-token': token }),
        };
        const { body } = await request({ method: 'GET', query, expected: [200] });
        const listed = listedIn(body.toString('utf8'), below);
        found.folders.push(...listed.folders);
        found.files.push(...listed.files);
        token = listed.next;
      }
      return found;
    },
    async read(path) {
      const { status, body } = await request({ method: 'GET', key: prefix + path, expected: [200, 404] });
      return status === 200 ? body : undefined;
    },
    put: (path, make) => send(path, make, true),
    async replace(path, make) {
      await send(path, make, false);
    },
    async remove(path) {
      await request({ method: 'DELETE', key: prefix + path, expected: [204, 200, 404] });
    },
    close,
  };
}

/** Of one PUT, by S3. */
const MOST_BYTES = 5 * 1024 ** 3;

/** Beside the mirror: files until they are sent. */
export const wayIn = (dir: string) => join(dir, 'lake-partial');
