/** The document of the page and what it loads, as the build made them: read once, compressed once. */

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, extname, join } from 'node:path';
import type { Call } from '../http/handler.ts';
import {
  compress,
  digestEtag,
  type Encoding,
  encodingOf,
  type HttpResponse,
  jsonResponse,
  matchesEtag,
} from '../http/response.ts';

const DOCUMENT = 'index.html';

/** The document may load what comes from here, and turn no text into markup. */
const documentHeaders: Readonly<Record<string, string>> = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Referrer-Policy': 'no-referrer',
  'Content-Security-Policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ].join('; '),
};

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.json': 'application/json',
  '.txt': 'text/plain; charset=utf-8',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
};

/** @param folder of `index.html`; a name that holds a digest, as `main-2QO7Z5KB.js`, changes with what it holds. */
export function openAssets(folder: string) {
  let files: ReadonlyMap<string, File> | undefined;
  const find = (name: string) => {
    files ??= filesIn(folder);
    return files.get(name);
  };
  return {
    async document({ headers: { 'if-none-match': ifNoneMatch, 'accept-encoding': accepted } }: Call) {
      const file = find(DOCUMENT);
      if (!file)
        return jsonResponse(503, { error: 'not_built', message: 'The page is not built: npm run build.' });
      const headers = {
        ...documentHeaders,
        ETag: file.etag,
        'Cache-Control': 'no-cache',
        Vary: 'Accept-Encoding',
      };
      if (matchesEtag(ifNoneMatch, file.etag)) return { status: 304, headers, body: null };
      return await encoded(file, encodingOf(accepted), headers);
    },
    /** Undefined where there is none of that name. */
    async asset(name: string, call: Call) {
      const file = name === DOCUMENT ? undefined : find(name);
      if (!file) return undefined;
      const isForEver = /-[0-9A-Z]{8}\.\w+$/.test(name);
      const caching = isForEver ? 'public, max-age=31536000, immutable' : 'no-cache';
      const headers = { 'Cache-Control': caching, Vary: 'Accept-Encoding' };
      return await encoded(file, encodingOf(call.headers['accept-encoding']), headers);
    },
  };
}

type File = {
  readonly type: string;
  readonly bytes: Buffer;
  readonly etag: string;
  readonly compressed: Map<Encoding, Promise<Buffer>>;
};

/** By name: a name that a client makes up leads to none that was not there at the start. */
function filesIn(folder: string): Map<string, File> {
  if (!existsSync(folder)) return new Map();
  const found = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) =>
    entry.isFile(),
  );
  return new Map(
    found.map(({ parentPath, name }) => {
      const bytes = readFileSync(join(parentPath, name));
      const type = types[extname(name)] ?? 'application/octet-stream';
      return [basename(name), { type, bytes, etag: digestEtag(bytes), compressed: new Map() }];
    }),
  );
}

async function encoded(
  file: File,
  encoding: Encoding,
  headers: HttpResponse['headers'],
): Promise<HttpResponse> {
  const typed = { ...headers, 'Content-Type': file.type };
  if (encoding === 'identity' || file.type === 'image/png')
    return { status: 200, headers: typed, body: file.bytes };
  const kept = file.compressed.get(encoding) ?? compress(file.bytes, encoding, 'thorough');
  file.compressed.set(encoding, kept);
  return { status: 200, headers: { ...typed, 'Content-Encoding': encoding }, body: await kept };
}
