/**
 * The requests of a walk. A list that may change meanwhile has one in flight, since each page begins where the last one ended. The pages of a
 * published snapshot are where they were, so four of them are requested at once: a window. When all of one have come, the next are
 * requested, and then those that came are saved together. Where a page is not what it should be, the walk goes on one by one.
 */

import { BROKEN_CONTRACT, type Call } from '../api/response.ts';
import type { Api, ApiResponse } from '../api.ts';
import { toError } from '../base/errors.ts';
import type { Job } from '../job.ts';
import type { ArrivedPage, WalkSession } from '../store.ts';
import { checkPage, digestOfPage, errorInBody } from '../validate.ts';
import { PAGE_ROWS, requestOf } from '../walk/checkpoint.ts';

/** A kill repeats the calls of two windows at most: one that is saved, and one in flight. */
const WINDOW_PAGES = 4;

/** What has arrived, in the order of the walk; and why the page behind it has not. */
type Arrived = { arrived: ArrivedPage[]; failure: Error | undefined };

/** @param record keeps the record of a call whose page is not saved. */
export function openWindow(
  job: Job,
  session: WalkSession,
  api: Api,
  record: (call: Call) => void,
  signal: AbortSignal,
) {
  const findError = (json: unknown) => errorInBody(json, job);
  let inFlight: RequestInFlight[] = [];
  let isOneByOne = session.row.kind === 'glance';
  let last: ArrivedPage | undefined;

  function request(offset: number, limit: number): RequestInFlight {
    const dropped = new AbortController();
    const query = { offset, limit };
    const settled = api
      .get(
        { job: job.name, walkId: session.row.id, path: job.path, query, findError },
        AbortSignal.any([signal, dropped.signal]),
      )
      .then(
        (response): Settled => ({ response }),
        (thrown: unknown): Settled => ({ failure: toError(thrown) }),
      );
    return { offset, settled, drop: () => dropped.abort(unneeded) };
  }

  /** Requests the page of the checkpoint, or a window from there on. */
  function requestNext(): RequestInFlight[] {
    const { offset, limit } = requestOf(session.checkpoint);
    const isOfWindow = session.checkpoint.mode === 'snapshot' && limit === PAGE_ROWS && !isOneByOne;
    const mayOpen = isOfWindow && last !== undefined && isOfSnapshot(last) && hasAmpleCalls(last);
    return mayOpen ? requestWindow(offset) : [request(offset, limit)];
  }

  function requestWindow(from: number): RequestInFlight[] {
    const total = last?.page.pagination.total ?? 0;
    return Array.from({ length: WINDOW_PAGES }, (_, at) => from + at * PAGE_ROWS)
      .filter((offset, at) => at === 0 || offset < total)
      .map((offset) => request(offset, PAGE_ROWS));
  }

  function check(offset: number, { body, json, call }: ApiResponse): ArrivedPage {
    try {
      const page = checkPage(job, body, json, session.known);
      return { page, offset, digest: offset === 0 ? digestOfPage(job, page, session.ages) : undefined, call };
    } catch (thrown) {
      record({ ...call, errorCode: BROKEN_CONTRACT });
      throw thrown;
    }
  }

  /** Sorts what became of the requests: pages up to the first that did not come. */
  async function collect(requests: readonly RequestInFlight[]): Promise<Arrived> {
    const arrived: ArrivedPage[] = [];
    let failure: Error | undefined;
    for (const { offset, settled } of requests) {
      const { response, failure: failed } = await settled;
      if (failure) {
        if (response) record(response.call);
        continue;
      }
      try {
        if (response) arrived.push(check(offset, response));
        failure = failed;
      } catch (thrown) {
        failure = toError(thrown);
      }
    }
    return { arrived, failure };
  }

  async function drop(): Promise<void> {
    const dropped = inFlight;
    inFlight = [];
    for (const one of dropped) one.drop();
    for (const { settled } of dropped) {
      const { response } = await settled;
      if (response) record(response.call);
    }
  }

  return {
    /** Resolves once all pages in flight have come, or one of them has failed. */
    async next(): Promise<Arrived> {
      const { offset } = requestOf(session.checkpoint);
      if (inFlight.length > 0 && inFlight[0]?.offset !== offset) {
        isOneByOne = true;
        await drop();
      }
      if (inFlight.length === 0) inFlight = requestNext();
      const window = inFlight;
      const result = await collect(window);
      inFlight = [];
      last = result.arrived.at(-1);
      const { generatedAt } = session.checkpoint;
      const isWhole =
        result.arrived.length === window.length &&
        result.arrived.every((one) => isOfSnapshot(one) && one.page.generatedAt === generatedAt);
      // Behind a single page nobody knows yet whether the walk goes on.
      if (window.length > 1 && !isWhole) isOneByOne = true;
      if (window.length > 1 && isWhole && last && !isOneByOne && !signal.aborted && hasAmpleCalls(last))
        inFlight = requestWindow(last.offset + last.page.received);
      return result;
    },
    /** Ends the requests in flight. */
    close: drop,
  };
}

type Settled = { response: ApiResponse; failure?: undefined } | { response?: undefined; failure: Error };
type RequestInFlight = { offset: number; settled: Promise<Settled>; drop(): void };

/** Why requests are aborted. */
const unneeded = new Error('the walk goes on elsewhere');

/** Whether the page is a full one of a published snapshot, and more follow. */
const isOfSnapshot = ({ page: { received, generatedAt, pagination } }: ArrivedPage) =>
  received === PAGE_ROWS &&
  typeof generatedAt === 'string' &&
  pagination.hasMore === true &&
  pagination.total !== undefined;

/** Whether the header says that half of the quota is left. */
const hasAmpleCalls = ({ call: { rateLimit, rateRemaining } }: ArrivedPage) =>
  rateLimit !== null && rateRemaining !== null && rateRemaining * 2 >= rateLimit;
