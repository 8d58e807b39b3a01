/** Answers as files: ordered, taken once, and with a receipt once they were taken whole. */

import { randomBytes } from 'node:crypto';
import { type Clock, isoTime } from '../../clock.ts';
import { Failure } from '../../errors.ts';
import type { Order, Receipt } from '../../reading/export.ts';
import type { Question } from '../../reading/query.ts';
import { jsonAnswer } from '../answers.ts';
import { Gone, type PageAnswer, type PageAsked, type Write } from '../app.ts';
import { readDownload, readJson } from './asked.ts';
import type { Askers } from './askers.ts';
import { writeDownload } from './downloads/thread.ts';
import { busyAnswer, failedAnswer } from './failed.ts';
import type { Download } from './wire.ts';

export type DownloadsParts = {
  readonly dir: string;
  /** The mirrored tables with their jobs. */
  readonly tables: Readonly<Record<string, string>>;
  readonly askers: Pick<Askers, 'take'>;
  readonly clock: Pick<Clock, 'now'>;
  /** Name and version of the program, for receipts. */
  readonly by: string;
  /** Told of what must not happen. */
  failed(thrown: unknown): void;
};

export type Downloads = {
  /** @throws Unfit for what is no order, Failure for SQL that is wrong. */
  order(asked: PageAsked): Promise<PageAnswer>;
  take(asked: PageAsked): PageAnswer;
  receipt(asked: PageAsked): PageAnswer;
};

type Ordered = {
  readonly question: Question;
  readonly order: Order;
  readonly file: string;
  endsAt: number;
  state: 'ordered' | 'under way' | Failure | Receipt;
};

const MOST_ORDERED = 64;
const MOST_UNDER_WAY = 2;
const KEPT_MS = 10 * 60_000;
const TIMEOUT_MS = 30 * 60_000;
/** For the first step of the question, which finds most mistakes. */
const CHECK_MS = 20_000;

const types: Readonly<Record<string, string>> = {
  csv: 'text/csv; charset=utf-8',
  ndjson: 'application/x-ndjson',
  parquet: 'application/vnd.apache.parquet',
};

export function openDownloads({ dir, tables, askers, clock, by, failed }: DownloadsParts): Downloads {
  const all = new Map<string, Ordered>();
  let underWay = 0;

  function find(id: string): Ordered | undefined {
    for (const [name, { endsAt, state }] of all)
      if (endsAt <= clock.now() && state !== 'under way') all.delete(name);
    return all.get(id);
  }

  async function check(question: Question, gone: AbortSignal): Promise<boolean> {
    const lease = await askers.take(gone);
    if (!lease) return false;
    try {
      await lease.ask(question, { signal: gone, now: clock.now, timeoutMs: CHECK_MS }, async () => undefined);
      return true;
    } finally {
      lease.giveBack();
    }
  }

  async function write(ordered: Ordered, to: Write, gone: AbortSignal): Promise<void> {
    const { question, order, file } = ordered;
    underWay += 1;
    try {
      ordered.state = await writeDownload({ question, order, file, timeoutMs: TIMEOUT_MS }, to, gone);
    } catch (thrown) {
      const isKnown = thrown instanceof Failure && thrown.kind !== 'bug';
      if (!isKnown && !(thrown instanceof Gone)) failed(thrown);
      ordered.state = isKnown ? thrown : new Failure('incomplete', 'the download broke off');
      // The connection is cut: half a file must not pass for a whole one.
      throw new Gone();
    } finally {
      underWay -= 1;
      ordered.endsAt = clock.now() + KEPT_MS;
    }
  }

  return {
    async order(asked) {
      const now = clock.now();
      const { format, name, ...question } = readDownload(await readJson(asked), now);
      find('');
      if (all.size >= MOST_ORDERED) return busy();
      const whole: Question = { dir, tables, ...question };
      if (!(await check(whole, asked.gone))) return busy();
      const id = randomBytes(16).toString('base64url');
      const exportedAt = isoTime(now);
      all.set(id, {
        question: { ...whole, survey: format === 'parquet' },
        order: { format, exact: false, ...question, job: null, since: null, exportedAt, by },
        file: `${name}-${exportedAt.replace(/[-:]|\.\d+/g, '')}.${format}`,
        endsAt: now + KEPT_MS,
        state: 'ordered',
      });
      const path = `/page/downloads/${id}`;
      return jsonAnswer(200, { path, receiptPath: `${path}/receipt` } satisfies Download);
    },
    take(asked) {
      const ordered = find(asked.param('id'));
      if (!ordered) return over();
      if (ordered.state !== 'ordered') return told(410, 'this download was taken already: order it again');
      if (underWay >= MOST_UNDER_WAY) return busy();
      ordered.state = 'under way';
      return {
        status: 200,
        headers: attached(ordered.file, types[ordered.order.format] ?? 'application/octet-stream'),
        body: (to) => write(ordered, to, asked.gone),
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

const busy = () => busyAnswer('downloads');

const told = (status: number, message: string) => failedAnswer(status, 'incomplete', message);

const over = () => told(404, 'this download is over: order it again');

const attached = (file: string, type: string): Record<string, string> => ({
  'Content-Type': type,
  'Content-Disposition': `attachment; filename="${file}"`,
  'Cache-Control': 'no-store',
});
