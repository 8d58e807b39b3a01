/** Answers as files: ordered, taken once, and with a receipt once they were taken whole. Viewers share the places for both. */

import { createHash, randomBytes } from 'node:crypto';
import { type Clock, isoTime } from '../../clock.ts';
import { Failure } from '../../errors.ts';
import type { Order, Receipt } from '../../reading/export.ts';
import { type FileEnd, type Question, startServedProcess } from '../../reading/query.ts';
import { Gone, type PageAnswer, type PageAsked, type Write } from '../http/app.ts';
import { jsonAnswer } from '../service/answers.ts';
import { readDownload, readJson } from './asked.ts';
import { busyAnswer, failedAnswer } from './failed.ts';
import { openFairShares, type Share } from './fair-shares.ts';
import type { Turns } from './questions.ts';
import type { Viewer } from './sessions.ts';
import type { Download } from './wire.ts';

export type DownloadsParts = {
  readonly dir: string;
  /** The mirrored tables with their jobs. */
  readonly tables: Readonly<Record<string, string>>;
  readonly turns: Turns;
  readonly clock: Pick<Clock, 'now'>;
  /** Name and version of the program, for receipts. */
  readonly by: string;
  /** Told of what must not happen. */
  failed(thrown: unknown): void;
};

export type Downloads = {
  /**
   * Its first row is looked for, which is a question like any other.
   * @throws Unfit for what is no order, Failure for SQL that is wrong.
   */
  order(asked: PageAsked, viewer: Viewer): Promise<PageAnswer>;
  take(asked: PageAsked, viewer: Viewer): PageAnswer;
  receipt(asked: PageAsked): PageAnswer;
};

type Ordered = {
  readonly question: Question;
  readonly order: Order;
  readonly file: string;
  endsAt: number;
  state: 'ordered' | 'under way' | Failure | Receipt;
  /** Among the orders. */
  place: Share | undefined;
  /** Ends it while it is under way. */
  readonly ended: AbortController;
};

const MOST_ORDERED = 64;
const MOST_UNDER_WAY = 2;
const KEPT_MS = 10 * 60_000;
const TIMEOUT_MS = 30 * 60_000;
/** For the first row of the question, with which most mistakes show: one that takes longer for it would be ended anyway. */
const CHECK_MS = 60_000;

const types: Readonly<Record<string, string>> = {
  csv: 'text/csv; charset=utf-8',
  ndjson: 'application/x-ndjson',
  parquet: 'application/vnd.apache.parquet',
};

export function openDownloads({ dir, tables, turns, clock, by, failed }: DownloadsParts): Downloads {
  const all = new Map<string, Ordered>();
  const orders = openFairShares(MOST_ORDERED);
  const taken = openFairShares(MOST_UNDER_WAY);

  function find(id: string): Ordered | undefined {
    for (const [name, { endsAt, state }] of all)
      if (endsAt <= clock.now() && state !== 'under way') drop(name);
    return all.get(id);
  }

  function drop(id: string): void {
    const ordered = all.get(id);
    all.delete(id);
    ordered?.place?.leave();
    ordered?.ended.abort();
  }

  /** @returns an answer where it cannot be ordered. */
  async function check(question: Question, asked: PageAsked, viewer: Viewer): Promise<PageAnswer | null> {
    const turn = await turns.take(asked, viewer);
    if ('status' in turn) return turn;
    try {
      const bounds = { signal: turn.signal, now: clock.now, timeoutMs: CHECK_MS };
      await turn.queries.check(question, bounds);
      return null;
    } catch (thrown) {
      throw turn.explain(thrown);
    } finally {
      turn.end();
    }
  }

  /** @param signal aborted where the client has gone, or the download has to give way. */
  async function write(ordered: Ordered, to: Write, place: Share, signal: AbortSignal): Promise<void> {
    const { question, order, file, ended } = ordered;
    const process = startServedProcess();
    const hash = createHash('sha256');
    let bytes = 0;
    try {
      const bounds = { signal, now: clock.now, timeoutMs: TIMEOUT_MS };
      const exported: FileEnd = await process.file(question, order, bounds, async (piece) => {
        hash.update(piece);
        bytes += piece.length;
        await to(piece);
      });
      ordered.state = { ...exported, file, bytes, sha256: hash.digest('hex') };
    } catch (thrown) {
      const isKnown = thrown instanceof Failure && thrown.kind !== 'bug';
      if (!isKnown && !(thrown instanceof Gone)) failed(thrown);
      ordered.state = ended.signal.aborted ? gaveWay() : isKnown ? thrown : brokeOff();
      // The connection is cut: half a file must not pass for a whole one.
      throw new Gone();
    } finally {
      process.end();
      place.leave();
      ordered.endsAt = clock.now() + KEPT_MS;
    }
  }

  return {
    async order(asked, viewer) {
      const now = clock.now();
      const { format, name, ...question } = readDownload(await readJson(asked), now);
      const whole: Question = { dir, tables, ...question };
      const refused = await check(whole, asked, viewer);
      if (refused) return refused;
      find('');
      const id = randomBytes(16).toString('base64url');
      const place = orders.take(viewer.owner, () => drop(id));
      if (!place) return busy();
      const exportedAt = isoTime(now);
      all.set(id, {
        question: { ...whole, survey: format === 'parquet' },
        order: { format, exact: false, ...question, job: null, since: null, exportedAt, by },
        file: `${name}-${exportedAt.replace(/[-:]|\.\d+/g, '')}.${format}`,
        endsAt: now + KEPT_MS,
        state: 'ordered',
        place,
        ended: new AbortController(),
      });
      const path = `/page/downloads/${id}`;
      return jsonAnswer(200, { path, receiptPath: `${path}/receipt` } satisfies Download);
    },
    take(asked, { owner }) {
      const ordered = find(asked.param('id'));
      if (!ordered) return over();
      if (ordered.state !== 'ordered') return told(410, 'this download was taken already: order it again');
      const place = taken.take(owner, () => ordered.ended.abort());
      if (!place) return busy();
      asked.gone.addEventListener('abort', place.leave);
      ordered.state = 'under way';
      const signal = AbortSignal.any([asked.gone, ordered.ended.signal]);
      return {
        status: 200,
        headers: attached(ordered.file, types[ordered.order.format] ?? 'application/octet-stream'),
        body: (to) => write(ordered, to, place, signal),
      };
    },
    receipt(asked) {
      const ordered = find(asked.param('id'));
      if (!ordered) return over();
      const { state, file } = ordered;
      if (state instanceof Failure) return failedAnswer(410, state.kind, state.message);
      if (typeof state === 'string') return told(409, 'the receipt is there once the download is complete');
      const headers = attached(`${file}.meta.json`, 'application/json');
      return { status: 200, headers, body: `${JSON.stringify(state, null, 2)}\n` };
    },
  };
}

const gaveWay = () =>
  new Failure(
    'incomplete',
    'the download was ended to make room for another viewer: you had the most at the same time; order it again',
  );

const brokeOff = () => new Failure('incomplete', 'the download broke off');

const busy = () => busyAnswer('downloads');

const told = (status: number, message: string) => failedAnswer(status, 'incomplete', message);

const over = () => told(404, 'this download is over: order it again');

const attached = (file: string, type: string): Record<string, string> => ({
  'Content-Type': type,
  'Content-Disposition': `attachment; filename="${file}"`,
  'Cache-Control': 'no-store',
});
