/** Requests to the service. Nothing throws: a problem is plain data, for the place where it is shown. */

import type {
  OpenedQuery,
  Overview,
  PageCell,
  PageQuestion,
  PageReport,
  QueryLine,
  Schema,
} from '../src/serve/page/wire.ts';

export type QueryProblem = {
  /**
   * `away`: the service does not answer, which may mend itself. `login`: there is no session. `stopped`: the reader has
   * ended it. The others are kinds of failures, as of `market-mirror query`.
   */
  kind: 'away' | 'login' | 'stopped' | Extract<QueryLine, { failed: unknown }>['failed']['kind'];
  /** One line for a person. */
  message: string;
};

export type Outcome<T> = { value: T; problem?: never } | { problem: QueryProblem; value?: never };

/** A whole answer. `isCut`: there are more rows than `limit`. */
export type Answer = OpenedQuery & { rows: (readonly PageCell[])[]; isCut: boolean; ms: number };

/** The latest that came, by which the service tells whether there is another. */
let known: { etag: string; overview: Overview } | undefined;

/** The same object as before where nothing is new. */
export async function fetchOverview(signal: AbortSignal): Promise<Outcome<Overview>> {
  try {
    const headers: Record<string, string> = known ? { 'If-None-Match': known.etag } : {};
    const response = await fetch('/page/overview', { headers, signal });
    if (response.status === 304 && known) return { value: known.overview };
    if (!response.ok) return { problem: await problemOf(response) };
    known = { etag: response.headers.get('ETag') ?? '', overview: (await response.json()) as Overview };
    return { value: known.overview };
  } catch {
    return { problem: signal.aborted ? stopped : away };
  }
}

export const fetchSchema = (signal: AbortSignal) => fetchJson<Schema>('/page/schema', signal);
export const fetchReports = (signal: AbortSignal) =>
  fetchJson<readonly PageReport[]>('/page/reports', signal);

/** Ends the session of this browser. */
export async function signOut(): Promise<void> {
  await fetch('/page/logout', { method: 'POST' }).catch(() => undefined);
}

type Listening = {
  opened?(opened: OpenedQuery): void;
  rows?(rows: readonly (readonly PageCell[])[]): void;
};

/** Asks in SQL, and hands on what comes as it comes. Aborting `signal` ends the query in the service, too. */
export async function ask(
  question: PageQuestion,
  on: Listening,
  signal?: AbortSignal,
): Promise<Outcome<Extract<QueryLine, { end: unknown }>['end']>> {
  try {
    const response = await fetch('/page/query', { ...asJson(question), ...(signal && { signal }) });
    if (!response.ok || response.body === null) return { problem: await problemOf(response) };
    for await (const line of jsonLines<QueryLine>(response.body)) {
      if ('opened' in line) on.opened?.(line.opened);
      else if ('rows' in line) on.rows?.(line.rows);
      else if ('end' in line) return { value: line.end };
      else return { problem: line.failed };
    }
    return {
      problem: { kind: 'away', message: 'the answer broke off: the service ended, or the way to it' },
    };
  } catch {
    return { problem: signal?.aborted ? stopped : away };
  }
}

/** The same, once all of it is there. */
export async function answerTo(question: PageQuestion, signal?: AbortSignal): Promise<Outcome<Answer>> {
  let opened: OpenedQuery | undefined;
  const rows: (readonly PageCell[])[] = [];
  const { value: end, problem } = await ask(
    question,
    {
      opened(first) {
        opened = first;
      },
      rows(more) {
        for (const row of more) rows.push(row);
      },
    },
    signal,
  );
  if (problem) return { problem };
  if (!opened) return { problem: { kind: 'bug', message: 'the service sent rows without their columns' } };
  const { isCut, ms, notes } = end;
  return { value: { ...opened, notes: [...opened.notes, ...notes], rows, isCut, ms } };
}

const stopped: QueryProblem = { kind: 'stopped', message: 'Stopped: the answer was not waited for.' };
const away: QueryProblem = { kind: 'away', message: 'the service does not answer' };

async function fetchJson<T>(path: string, signal: AbortSignal): Promise<Outcome<T>> {
  try {
    const response = await fetch(path, { signal });
    if (!response.ok) return { problem: await problemOf(response) };
    return { value: (await response.json()) as T };
  } catch {
    return { problem: signal.aborted ? stopped : away };
  }
}

const asJson = (body: unknown): RequestInit => ({
  method: 'POST',
  headers: { 'Content-Type': 'application/json' },
  body: JSON.stringify(body),
});

/** What went wrong, as a failed query or as an error of the API says it. */
type FailedBody = { failed?: { kind: QueryProblem['kind']; message: string }; message?: string };

async function problemOf(response: Response): Promise<QueryProblem> {
  const told = (await response.json().catch(() => ({}))) as FailedBody;
  const message = told.failed?.message ?? told.message ?? `the service answered ${response.status}`;
  if (response.status === 401 || response.status === 403) return { kind: 'login', message };
  // A proxy whose service is gone answers so.
  if ([502, 504].includes(response.status)) return { kind: 'away', message };
  return { kind: told.failed?.kind ?? 'incomplete', message };
}

/** Lines of JSON out of a body that arrives in pieces. A line that was cut off is left out: another says why, or the end is missing. */
export async function* jsonLines<T>(body: ReadableStream<Uint8Array>): AsyncGenerator<T, void> {
  const reader = body
    .pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>)
    .getReader();
  let rest = '';
  try {
    for (;;) {
      const { value = '', done } = await reader.read();
      const lines = (rest + value).split('\n');
      rest = done ? '' : (lines.pop() ?? '');
      for (const line of lines) {
        const parsed = parsedLine<T>(line);
        if (parsed !== undefined) yield parsed;
      }
      if (done) return;
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function parsedLine<T>(line: string): T | undefined {
  try {
    return JSON.parse(line) as T;
  } catch {
    return undefined;
  }
}
