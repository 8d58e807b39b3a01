/** Results of queries as files: ordered, taken once, with a receipt when complete. The query process writes straight to the client, so no disk space is taken. */

import { createHash, randomBytes } from 'node:crypto';
import { isoTime } from '../../clock.ts';
import { Failure } from '../../errors.ts';
import type { Order, Receipt } from '../../reading/export.ts';
import { type Question, startServedProcess } from '../../reading/query.ts';
import { openFairShares, type Share } from '../fair-shares.ts';
import type { Call } from '../http/handler.ts';
import { type HttpResponse, jsonResponse, type StreamedResponse } from '../http/response.ts';
import { abortSignalOf, ClientGone, type Write } from '../http/stream.ts';
import type { QueryParts } from './queries.ts';
import { BadRequest, busyResponse, failedResponse, readJson, readQuestion } from './requests.ts';
import type { Viewer } from './sessions.ts';
import type { Download, DownloadFormat } from './wire.ts';

type DownloadState = {
  readonly question: Question;
  readonly order: Order & { format: DownloadFormat };
  readonly file: string;
  endsAt: number;
  status: 'ordered' | 'running' | Failure | Receipt;
  /** Ends it while it is running. */
  readonly ended: AbortController;
  /** Among the orders. */
  readonly place: Share;
};

const MAX_ORDERED = 64;
const MAX_RUNNING = 2;
const KEPT_MS = 10 * 60_000;
const TIMEOUT_MS = 30 * 60_000;
/** For the first row, with which most mistakes show: a query that takes longer for it would be ended anyway. */
const CHECK_MS = 60_000;

/** The formats that can be ordered, with their media types. */
const mediaTypes: Readonly<Record<DownloadFormat, string>> = {
  csv: 'text/csv; charset=utf-8',
  ndjson: 'application/x-ndjson',
  parquet: 'application/vnd.apache.parquet',
};

/** @param by name and version of the program, for receipts. */
export function openDownloads({ dir, tables, turns, clock, onError }: QueryParts, by: string) {
  const all = new Map<string, DownloadState>();
  const orderPlaces = openFairShares(MAX_ORDERED);
  const runningPlaces = openFairShares(MAX_RUNNING);

  function find({ params }: Call): DownloadState | undefined {
    dropOld();
    return all.get(params['id'] ?? '');
  }

  function dropOld(): void {
    for (const [id, { endsAt, status }] of all) if (endsAt <= clock.now() && status !== 'running') drop(id);
  }

  function drop(id: string): void {
    const download = all.get(id);
    all.delete(id);
    download?.place.leave();
    download?.ended.abort();
  }

  /** @returns a response where it cannot be ordered. */
  async function check(question: Question, call: Call, viewer: Viewer): Promise<HttpResponse | null> {
    const turn = await turns.take(call, viewer);
    if ('status' in turn) return turn;
    try {
      await turn.queries.check(question, { signal: turn.signal, now: clock.now, timeoutMs: CHECK_MS });
      return null;
    } catch (thrown) {
      throw turn.explain(thrown);
    } finally {
      turn.end();
    }
  }

  /** @param signal aborted where the client has gone, or the download has to give way. */
  async function send(download: DownloadState, write: Write, signal: AbortSignal): Promise<void> {
    const { question, order, file, ended } = download;
    const process = startServedProcess();
    const hash = createHash('sha256');
    let bytes = 0;
    try {
      const bounds = { signal, now: clock.now, timeoutMs: TIMEOUT_MS };
      const exported = await process.file(question, order, bounds, async (piece) => {
        hash.update(piece);
        bytes += piece.length;
        await write(piece);
      });
      download.status = { ...exported, file, bytes, sha256: hash.digest('hex') };
    } catch (thrown) {
      const isKnown = thrown instanceof Failure && thrown.kind !== 'bug';
      if (!isKnown && !(thrown instanceof ClientGone)) onError(thrown);
      download.status = ended.signal.aborted ? gaveWay() : isKnown ? thrown : brokeOff();
      // The connection is cut: half a file must not pass for a whole one.
      throw new ClientGone();
    } finally {
      process.end();
      download.endsAt = clock.now() + KEPT_MS;
    }
  }

  return {
    /**
     * Its first row is looked for, by a query like any other.
     * @throws BadRequest, and Failure for SQL that is wrong.
     */
    async order(call: Call, viewer: Viewer): Promise<HttpResponse> {
      const now = clock.now();
      const { format, name, ...query } = readDownload(await readJson(call), now);
      const question: Question = { dir, tables, ...query };
      const refused = await check(question, call, viewer);
      if (refused) return refused;
      dropOld();
      const id = randomBytes(16).toString('base64url');
      const place = orderPlaces.take(viewer.owner, () => drop(id));
      if (!place) return busyResponse('downloads');
      const exportedAt = isoTime(now);
      all.set(id, {
        question: { ...question, survey: format === 'parquet' },
        order: { format, exact: false, ...query, job: null, since: null, exportedAt, by },
        file: `${name}-${exportedAt.replace(/[-:]|\.\d+/g, '')}.${format}`,
        endsAt: now + KEPT_MS,
        status: 'ordered',
        ended: new AbortController(),
        place,
      });
      const path = `/page/downloads/${id}`;
      return jsonResponse(200, { path, receiptPath: `${path}/receipt` } satisfies Download);
    },
    take(call: Call, { owner }: Viewer): StreamedResponse {
      const download = find(call);
      if (!download) return isOver();
      if (download.status !== 'ordered')
        return incomplete(410, 'this download was taken already: order it again');
      const { ended, file, order } = download;
      const place = runningPlaces.take(owner, () => ended.abort());
      if (!place) return busyResponse('downloads');
      const gone = abortSignalOf(call);
      gone.addEventListener('abort', place.leave);
      download.status = 'running';
      return {
        status: 200,
        headers: attachment(file, mediaTypes[order.format]),
        body: (write) => send(download, write, AbortSignal.any([gone, ended.signal])).finally(place.leave),
      };
    },
    receipt(call: Call): HttpResponse {
      const download = find(call);
      if (!download) return isOver();
      const { status, file } = download;
      if (status instanceof Failure) return failedResponse(410, status.kind, status.message);
      if (typeof status === 'string')
        return incomplete(409, 'the receipt is there once the download is complete');
      const headers = attachment(`${file}.meta.json`, 'application/json');
      return { status: 200, headers, body: `${JSON.stringify(status, null, 2)}\n` };
    },
  };
}

/** @throws as `readQuestion` does. */
function readDownload(body: Readonly<Record<string, unknown>>, now: number) {
  const { format, name = 'market-mirror' } = body;
  const formats = Object.keys(mediaTypes) as DownloadFormat[];
  const known = formats.find((each) => each === format);
  if (!known) throw new BadRequest('format must be csv, ndjson or parquet.');
  if (typeof name !== 'string' || !/^[\w-]{1,64}$/.test(name))
    throw new BadRequest('name must be 1 to 64 letters, digits, hyphens and underscores.');
  return { ...readQuestion(body, now), format: known, name };
}

const gaveWay = () =>
  new Failure(
    'incomplete',
    'the download was ended to make room for another viewer: you had the most at the same time; order it again',
  );

const brokeOff = () => new Failure('incomplete', 'the download broke off');

const incomplete = (status: number, message: string) => failedResponse(status, 'incomplete', message);

const isOver = () => incomplete(404, 'this download is over: order it again');

const attachment = (file: string, type: string): Record<string, string> => ({
  'Content-Type': type,
  'Content-Disposition': `attachment; filename="${file}"`,
  'Cache-Control': 'no-store',
});
