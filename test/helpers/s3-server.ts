/**
 * A model of S3, as far as a lake needs it, by its documentation alone: it makes every signature again, looks at the digest
 * of every body, and puts a file only where there is none if it is told so.
 */

import { createHash, createHmac } from 'node:crypto';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';

export const SECRET = 'canary/secret+93ab7e';

export type S3 = {
  /** What a lake in it needs in its environment. */
  environment: Record<string, string>;
  /** The files of the bucket, by their keys. */
  files: Map<string, Buffer>;
  /** `PUT /bucket/key 412`, one for each answer. */
  answers: string[];
  /** What a request meets instead of its answer. */
  trouble: (request: { method: string; key: string; count: number }) => Trouble;
  /** Whether it takes `If-None-Match` for nothing. */
  isCareless: boolean;
  /** Its clock in epoch milliseconds, by which it refuses old signatures; without one it takes all. */
  now?: () => number;
};

/** A status with its code; or the line is cut, or nothing is heard any more, before or after the work is done. */
export type Trouble =
  | { status: number; code: string }
  | `${'cut' | 'mute'}-${'before' | 'after'}`
  | undefined;

const BUCKET = 'lake';
const PREFIX = 'market/mirror';
/** So few, that every list has several pages. */
const PAGE = 2;
/** By which the time of a signature may differ from that of the server. */
const LONGEST_SKEW_MS = 15 * 60_000;

/** @param files what lies there, which several servers may share. @param page so many names are listed at once. */
export async function startS3Server(
  files = new Map<string, Buffer>(),
  page = PAGE,
): Promise<S3 & { close(): void }> {
  const s3: S3 = { environment: {}, files, answers: [], trouble: () => undefined, isCareless: false };
  let count = 0;
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('error', () => undefined);
    request.on('end', () => {
      const body = Buffer.concat(pieces);
      const key = decodeURIComponent(pathOf(request).slice(BUCKET.length + 2));
      count += 1;
      const trouble = s3.trouble({ method: request.method ?? '', key, count });
      if (trouble === 'cut-before') return request.socket.destroy();
      if (trouble === 'mute-before') return undefined;
      const answer = typeof trouble === 'object' ? trouble : answerTo(s3, request, key, body, page);
      s3.answers.push(`${request.method} ${key} ${answer.status}`);
      if (trouble === 'cut-after') return request.socket.destroy();
      return trouble === 'mute-after' ? undefined : send(response, answer);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  s3.environment = {
    MIRROR_LAKE: `s3://${BUCKET}/${PREFIX}`,
    AWS_ENDPOINT_URL: `http://127.0.0.1:${port}`,
    AWS_ACCESS_KEY_ID: 'AKIDMODEL',
    AWS_SECRET_ACCESS_KEY: SECRET,
    AWS_REGION: 'eu-model-1',
  };
  return Object.assign(s3, {
    close() {
      server.closeAllConnections();
      server.close();
    },
  });
}

/** Writes what lies there into a folder, for DuckDB, which gets its reader of S3 from the network. */
export function fetchInto(folder: string, files: S3['files']): void {
  for (const [key, data] of files) {
    const file = join(folder, key.slice(PREFIX.length + 1));
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, data);
  }
}

type Answer = { status: number; code?: string; body?: Buffer | string };

const pathOf = (request: IncomingMessage) => (request.url ?? '').split('?')[0] ?? '';

function send(response: ServerResponse, { status, code, body }: Answer): void {
  response.statusCode = status;
  response.end(code === undefined ? body : `<Error><Code>${code}</Code><Message>no</Message></Error>`);
}

function answerTo(
  { files, isCareless, now }: S3,
  request: IncomingMessage,
  key: string,
  body: Buffer,
  page: number,
): Answer {
  const digest = createHash('sha256').update(body).digest('hex');
  if (request.headers['x-amz-content-sha256'] !== digest)
    return { status: 400, code: 'XAmzContentSHA256Mismatch' };
  if (signatureOf(request, digest) !== signatureIn(request))
    return { status: 403, code: 'SignatureDoesNotMatch' };
  if (now && Math.abs(signedAt(request) - now()) > LONGEST_SKEW_MS)
    return { status: 403, code: 'RequestTimeTooSkewed' };
  if (!pathOf(request).startsWith(`/${BUCKET}`)) return { status: 404, code: 'NoSuchBucket' };
  const found = files.get(key);
  switch (request.method) {
    case 'PUT':
      if (request.headers['content-length'] === undefined)
        return { status: 411, code: 'MissingContentLength' };
      if (request.headers['if-none-match'] === '*' && found && !isCareless)
        return { status: 412, code: 'PreconditionFailed' };
      files.set(key, body);
      return { status: 200 };
    case 'DELETE':
      files.delete(key);
      return { status: 204 };
    default:
      if (key === '') return { status: 200, body: listed(files, request, page) };
      return found ? { status: 200, body: found } : { status: 404, code: 'NoSuchKey' };
  }
}

function listed(files: S3['files'], request: IncomingMessage, size: number): string {
  const query = new URL(request.url ?? '', 'http://s3').searchParams;
  const prefix = query.get('prefix') ?? '';
  const names = [...files.keys()]
    .filter((key) => key.startsWith(prefix))
    .map((key) => prefix + key.slice(prefix.length).replace(/\/.*/, '/'));
  const all = [...new Set(names)].sort();
  const from = Number(query.get('continuation-token') ?? 0);
  const page = all.slice(from, from + size);
  const isTruncated = from + size < all.length;
  const entries = page.map((name) =>
    name.endsWith('/')
      ? `<CommonPrefixes><Prefix>${name}</Prefix></CommonPrefixes>`
      : `<Contents><Key>${name}</Key><Size>1</Size></Contents>`,
  );
  return `<ListBucketResult><IsTruncated>${isTruncated}</IsTruncated>${
    isTruncated ? `<NextContinuationToken>${from + size}</NextContinuationToken>` : ''
  }${entries.join('')}</ListBucketResult>`;
}

const signatureIn = ({ headers }: IncomingMessage) =>
  /Signature=([0-9a-f]{64})$/.exec(headers.authorization ?? '')?.[1] ?? 'none';

function signedAt({ headers }: IncomingMessage): number {
  const date = String(headers['x-amz-date']).replace(
    /^(\d{4})(\d\d)(\d\dT\d\d)(\d\d)(\d\dZ)$/,
    '$1-$2-$3:$4:$5',
  );
  return Date.parse(date);
}

/** Signature Version 4, as the documentation of AWS tells it. */
function signatureOf(request: IncomingMessage, digest: string): string {
  const { headers, method = '' } = request;
  const [, scope = '', names = ''] =
    /^AWS4-HMAC-SHA256 Credential=AKIDMODEL\/(\S+), SignedHeaders=(\S+), /.exec(
      headers.authorization ?? '',
    ) ?? [];
  const isComplete = ['host', 'x-amz-content-sha256', 'x-amz-date'].every((name) =>
    names.split(';').includes(name),
  );
  const isConditional = headers['if-none-match'] !== undefined && !names.includes('if-none-match');
  if (!isComplete || isConditional) return '';
  const query = [...new URL(request.url ?? '', 'http://s3').searchParams]
    .map((pair) => pair.map(encoded).join('='))
    .sort()
    .join('&');
  const path = pathOf(request)
    .split('/')
    .map((part) => encoded(decodeURIComponent(part)))
    .join('/');
  const signed = names.split(';').map((name) => `${name}:${String(headers[name]).trim()}\n`);
  const canonical = [method, path, query, signed.join(''), names, digest].join('\n');
  const hashed = createHash('sha256').update(canonical).digest('hex');
  const text = ['AWS4-HMAC-SHA256', headers['x-amz-date'], scope, hashed].join('\n');
  const key = scope
    .split('/')
    .reduce<Buffer | string>((key, part) => createHmac('sha256', key).update(part).digest(), `AWS4${SECRET}`);
  return createHmac('sha256', key).update(text).digest('hex');
}

const encoded = (text: string) =>
  encodeURIComponent(text).replace(
    /[!'()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  );
