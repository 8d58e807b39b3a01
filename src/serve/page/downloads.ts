/** Results of queries as one streamed file, by an address. Its receipt is there once it is whole. No disk space is taken. */

import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { isoTime } from '../../base/clock.ts';
import { Failure } from '../../base/errors.ts';
import type { Receipt } from '../../reading/export.ts';
import type { Question } from '../../reading/query.ts';
import type { Viewer } from '../access/sessions.ts';
import type { Call } from '../http/handler.ts';
import { ClientGone } from '../http/request.ts';
import type { HttpResponse, StreamedResponse } from '../http/response.ts';
import { abortSignalOf } from '../http/response.ts';
import type { QueryParts } from './queries.ts';
import { BadRequest, failedResponse, readQuestion } from './requests.ts';
import type { DownloadFormat } from './wire.ts';

const TIMEOUT_MS = 30 * 60_000;

/** Of the latest downloads. */
const MAX_RECEIPTS = 1_000;

/** The formats that can be asked for, with their media types. */
const mediaTypes: Readonly<Record<DownloadFormat, string>> = {
  csv: 'text/csv; charset=utf-8',
  json: 'application/json',
  ndjson: 'application/x-ndjson',
  parquet: 'application/vnd.apache.parquet',
};

/** @param by name and version of the program, for receipts. */
export function openDownloads({ dir, tables, turns, translate, clock, onError }: QueryParts, by: string) {
  const receipts = new LRUCache<string, { file: string; state: 'running' | Failure | Receipt }>({
    max: MAX_RECEIPTS,
  });

  /**
   * `?sql=…&params={…}&asOf=…`, or `?ask=…&asOf=…`, and what is fixed of it.
   * @param name how the file's name begins; null where a browser shows it.
   * @throws BadRequest, and Failure for SQL that is wrong.
   */
  async function send(
    call: Call,
    viewer: Viewer,
    format: DownloadFormat,
    name: string | null,
  ): Promise<StreamedResponse> {
    const now = clock.now();
    const { sql, params = '{}', asOf = null, ask } = Object.fromEntries(call.query);
    const { whole: _, ...query } = readQuestion(
      { sql, params: parseObject(params), asOf, ask },
      now,
      translate,
    );
    const question: Question = { dir, tables, ...query, infersTypes: format === 'parquet' };
    const exportedAt = isoTime(now);
    const file = `${name ?? 'answer'}-${exportedAt.replace(/[-:]|\.\d+/g, '')}.${format}`;
    const order = { format, exact: false, ...query, job: null, since: null, exportedAt, by } as const;
    const turn = await turns.take(call, viewer);
    if ('status' in turn) return turn;
    const bounds = { signal: abortSignalOf(call), now: clock.now, timeoutMs: TIMEOUT_MS };
    try {
      // What is wrong shows with the first row, while it can still be answered in words.
      await turn.queries.check(question, bounds);
    } catch (thrown) {
      turn.end();
      throw turn.explain(thrown);
    }
    const id = receiptName(call, viewer);
    receipts.set(id, { file, state: 'running' });
    return {
      status: 200,
      headers: headersOf(mediaTypes[format], name === null ? null : file),
      async body(write) {
        const hash = createHash('sha256');
        let bytes = 0;
        try {
          const exported = await turn.queries.file(question, order, bounds, async (piece) => {
            hash.update(piece);
            bytes += piece.length;
            await write(piece);
          });
          receipts.set(id, { file, state: { ...exported, file, bytes, sha256: hash.digest('hex') } });
        } catch (thrown) {
          const isKnown = thrown instanceof Failure && thrown.kind !== 'bug';
          if (!isKnown && !(thrown instanceof ClientGone)) onError(thrown);
          receipts.set(id, { file, state: isKnown ? thrown : brokeOff() });
          // The connection is cut: half a file must not pass for a whole one.
          throw new ClientGone();
        } finally {
          turn.end();
        }
      },
    };
  }

  return {
    /** As one list of JSON, by an address that can be sent to others. All rows are in it. */
    json: (call: Call, viewer: Viewer) => send(call, viewer, 'json', null),
    /** A file: `format` and `name` are in the query, and the name of its receipt in the path. */
    file(call: Call, viewer: Viewer) {
      const { format, name = 'market-mirror' } = Object.fromEntries(call.query);
      const known = (['csv', 'ndjson', 'parquet'] as const).find((each) => each === format);
      if (!known) throw new BadRequest('format must be csv, ndjson or parquet.');
      if (!/^[\w-]{1,64}$/.test(name))
        throw new BadRequest('name must be 1 to 64 letters, digits, hyphens and underscores.');
      return send(call, viewer, known, name);
    },
    receipt(call: Call, viewer: Viewer): HttpResponse {
      const found = receipts.get(receiptName(call, viewer));
      if (!found) return failedResponse(404, 'incomplete', 'there is no receipt of this download');
      const { file, state } = found;
      if (state === 'running')
        return failedResponse(409, 'incomplete', 'the receipt is there once the download is complete');
      if (state instanceof Failure) return failedResponse(410, state.kind, state.message);
      const headers = headersOf('application/json', `${file}.meta.json`);
      return { status: 200, headers, body: `${JSON.stringify(state, null, 2)}\n` };
    },
  };
}

/** A browser names its receipts; those of another viewer are not found. */
const receiptName = ({ params }: Call, { owner }: Viewer) => `${owner} ${(params['id'] ?? '').slice(0, 64)}`;

function parseObject(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new BadRequest('params must be an object in JSON.');
  }
}

const brokeOff = () => new Failure('incomplete', 'the download broke off');

const headersOf = (type: string, file: string | null): Record<string, string> => ({
  'Content-Type': type,
  ...(file && { 'Content-Disposition': `attachment; filename="${file}"` }),
  'Cache-Control': 'no-store',
});
