/** A lake in a bucket: of AWS, or of any service that speaks S3 and puts a file only where there is none. */

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { backoffMs } from '../../backoff.ts';
import type { Clock, Random } from '../../clock.ts';
import type { AwsAccess } from '../../config.ts';
import { Failure, toError } from '../../errors.ts';
import { version } from '../../version.ts';
import { type Spool, type Spooled, type Storage, spooled } from './storage.ts';

type S3Options = {
  access: AwsAccess;
  bucket: string;
  /** Empty, or with a slash at its end. */
  prefix: string;
  /** A folder for files until they are sent. */
  spoolFolder: string;
  clock: Clock;
  random: Random;
  signal: AbortSignal;
};

type S3Request = {
  method: 'GET' | 'PUT' | 'DELETE';
  /** Of the object; the bucket itself without one. */
  key?: string;
  query?: Readonly<Record<string, string>>;
  headers?: Readonly<Record<string, string>>;
  file?: Spooled;
  /** Every other status is a failure. */
  expected: readonly number[];
};

type S3Response = { status: number; body: Buffer };

const TRIES = 5;
const PAUSES = { firstMs: 200, longestMs: 5_000 };
const TIMEOUTS_MS = { connect: 10_000, silence: 60_000 };
const EMPTY_SHA256 = createHash('sha256').digest('hex');

/** Of one PUT, by S3. */
const MAX_PUT_BYTES = 5 * 1024 ** 3;

/** Beside the mirror: files until they are sent. */
export const spoolFolderIn = (dir: string) => join(dir, 'lake-partial');

/** @throws Failure `config` where bucket or rights are not what they must be, `incomplete` where it cannot be reached. */
export async function openS3(options: S3Options): Promise<Storage> {
  const { access, bucket, prefix, spoolFolder, clock, random, signal } = options;
  const { accessKeyId, secretAccessKey, sessionToken, region } = access;
  const shown = `s3://${bucket}/${prefix}`;
  const base = addressOf(bucket, access);
  const [{ AwsV4Signer }, { default: undici }] = await Promise.all([import('aws4fetch'), import('undici')]);
  const { Agent, request: send } = undici;
  const dispatcher = new Agent({
    connect: { timeout: TIMEOUTS_MS.connect },
    headersTimeout: TIMEOUTS_MS.silence,
    bodyTimeout: TIMEOUTS_MS.silence,
  });

  /** Sends a request, and again where that may help. */
  async function request(call: S3Request): Promise<S3Response> {
    for (let tries = 1; ; tries += 1) {
      const response = await exchange(call).catch(toError);
      if (signal.aborted) throw new Failure('incomplete', 'stopped');
      if (!(response instanceof Error) && call.expected.includes(response.status)) return response;
      if (tries === TRIES || !isRetryable(response)) throw failureOf(response, shown, access);
      await clock.sleep(backoffMs(tries, PAUSES, random()), signal).catch(() => undefined);
    }
  }

  async function exchange({ method, key = '', query, headers, file }: S3Request): Promise<S3Response> {
    const search = query ? `?${new URLSearchParams(query)}` : '';
    const signed = await new AwsV4Signer({
      ...{ method, accessKeyId, secretAccessKey, region, service: 's3' },
      url: `${base}/${key.split('/').map(encodeURIComponent).join('/')}${search}`,
      ...(sessionToken !== undefined && { sessionToken }),
      headers: { ...headers, 'x-amz-content-sha256': file?.sha256 ?? EMPTY_SHA256 },
      datetime: new Date(clock.now()).toISOString().replace(/[:-]|\.\d{3}/g, ''),
    }).sign();
    const { statusCode, body } = await send(signed.url, {
      ...{ method, dispatcher, signal },
      headers: {
        ...Object.fromEntries(signed.headers),
        'user-agent': `market-mirror/${version()}`,
        ...(file && { 'content-length': String(file.bytes) }),
      },
      body: file ? createReadStream(file.path) : null,
    });
    return { status: statusCode, body: Buffer.from(await body.arrayBuffer()) };
  }

  /** @returns undefined where a file that may not be replaced was there. */
  async function put(
    path: string,
    make: (spool: Spool) => void,
    isNew: boolean,
  ): Promise<Spooled | undefined> {
    return await spooled(spoolFolder, make, async (file) => {
      if (file.bytes > MAX_PUT_BYTES)
        throw new Failure(
          'disk',
          `${shown}${path}: ${file.bytes} bytes are more than one PUT may have (5 GB)`,
        );
      const headers: Record<string, string> = isNew ? { 'if-none-match': '*' } : {};
      const expected = isNew ? [200, 412] : [200];
      const { status } = await request({ method: 'PUT', key: prefix + path, headers, file, expected });
      return status === 200 ? file : undefined;
    });
  }

  return {
    shown,
    spoolFolder,
    async list(folder) {
      const below = folder === '' ? prefix : `${prefix}${folder}/`;
      const [folders, files]: [string[], string[]] = [[], []];
      for (let token: string | undefined = ''; token !== undefined; ) {
        const query: Record<string, string> = {
          'list-type': '2',
          delimiter: '/',
          prefix: below,
          ...(token && { 'continuation-token': token }),
        };
        const { body } = await request({ method: 'GET', query, expected: [200] });
        const xml = body.toString('utf8');
        const named = (pattern: RegExp) =>
          [...xml.matchAll(pattern)].map(([, name = '']) => textOf(name).slice(below.length));
        folders.push(
          ...named(/<CommonPrefixes>\s*<Prefix>([^<]*)<\/Prefix>/g).map((name) => name.replace(/\/$/, '')),
        );
        // Some services list an empty file for the folder itself.
        files.push(...named(/<Contents>.*?<Key>([^<]*)<\/Key>/gs).filter((name) => name !== ''));
        token = valueIn(xml, 'IsTruncated') === 'true' ? valueIn(xml, 'NextContinuationToken') : undefined;
      }
      return { folders, files };
    },
    async read(path) {
      const response = await request({ method: 'GET', key: prefix + path, expected: [200, 404] });
      if (response.status === 200) return response.body;
      // 404 is the status of a missing bucket, too.
      if (codeIn(response) === 'NoSuchBucket') throw failureOf(response, shown, access);
      return undefined;
    },
    put: (path, make) => put(path, make, true),
    async replace(path, make) {
      await put(path, make, false);
    },
    async remove(path) {
      await request({ method: 'DELETE', key: prefix + path, expected: [204, 200, 404] });
    },
    close: () => dispatcher.destroy(),
  };
}

/** Other services have the bucket in the path: in a host name it would need a certificate. */
function addressOf(bucket: string, { endpoint, region }: AwsAccess): string {
  if (endpoint !== undefined) return `${endpoint}/${bucket}`;
  const host = `s3.${region}.amazonaws.com`;
  return bucket.includes('.') ? `https://${host}/${bucket}` : `https://${bucket}.${host}`;
}

/** 409: the same file is being written. */
const isRetryable = (response: S3Response | Error) =>
  response instanceof Error || [408, 409, 429, 500, 502, 503, 504].includes(response.status);

/** The error in words for people: the message of S3 may hold the key. */
function failureOf(response: S3Response | Error, shown: string, { endpoint, region }: AwsAccess): Failure {
  if (response instanceof Error) {
    const { code, message } = response as NodeJS.ErrnoException;
    return new Failure('incomplete', `${shown} cannot be reached (${code ?? message})`);
  }
  const { status } = response;
  const code = codeIn(response);
  const said = `(${[status, code].filter(Boolean).join(' ')})`;
  if (code === 'RequestTimeTooSkewed')
    return new Failure('incomplete', `${shown} ${said}: the clock of this machine is wrong: correct it`);
  if (status === 401 || status === 403)
    return new Failure(
      'incomplete',
      `${shown} refuses the key ${said}: it needs to list, read, write and delete there; see AWS_ACCESS_KEY_ID or AWS_PROFILE`,
    );
  if (status === 404) return new Failure('config', `${shown}: there is no such bucket ${said}: make it`);
  if (status === 301 || status === 307 || code === 'AuthorizationHeaderMalformed')
    return new Failure(
      'config',
      `${shown} is not in the region ${region}${endpoint === undefined ? '' : ` of ${endpoint}`} ${said}: set AWS_REGION`,
    );
  if (status === 507 || /Full|QuotaExceeded/.test(code))
    return new Failure('disk', `${shown} has no room left ${said}`);
  if (status === 501)
    return new Failure(
      'config',
      `${shown} ${said}: it puts no file only where there is none (If-None-Match)`,
    );
  if (isRetryable(response)) return new Failure('incomplete', `${shown} is not to be had ${said}`);
  return new Failure('config', `${shown} refuses what a lake needs ${said}`);
}

/** S3's own word for an error; empty without one. */
const codeIn = ({ body }: S3Response) => valueIn(body.toString('utf8'), 'Code') ?? '';

/** @returns the text of the first element of that name. */
function valueIn(xml: string, name: string): string | undefined {
  const found = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1];
  return found === undefined ? undefined : textOf(found);
}

const entities: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' };

const textOf = (xml: string) =>
  xml.replace(/&(?:#x([0-9a-f]+)|#(\d+)|(\w+));/gi, (all, hex, decimal, name) =>
    name ? (entities[name] ?? all) : String.fromCodePoint(Number.parseInt(hex ?? decimal, hex ? 16 : 10)),
  );
