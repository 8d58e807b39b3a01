/**
 * The second surface, `/mirror/v1`: questions in PostgREST's read syntax. A question goes the way of every call (`service.ts`):
 * the key, what the response would cost, the limits, the rows. What differs is here: the question is parsed and becomes SQL, and
 * a query process, which can be killed, reads the rows.
 */

import { byteCache } from '../byte-cache.ts';
import { type Clock, isoTime, isTooOld } from '../clock.ts';
import { Failure } from '../errors.ts';
import type { ListedJob } from '../job-list.ts';
import { isHeldColumn } from '../reading/columns.ts';
import { describeBeginning } from '../time.ts';
import { accountOwner } from './fair-shares.ts';
import type { Call, Route } from './http/handler.ts';
import {
  compress,
  digestEtag,
  encodingOf,
  jsonResponse,
  matchesEtag,
  preferred,
  retryAfter,
  type StreamedResponse,
} from './http/response.ts';
import { abortSignalOf, EVENT_STREAM } from './http/stream.ts';
import { epochOf, type FeedAnswer, type FeedDataset, type Position, readPosition } from './query/changes.ts';
import { describeDataset } from './query/describe.ts';
import { badParameter, errorResponse, isQueryPath, QueryError, toErrorBody } from './query/errors.ts';
import { feedBody, openFeedStreams } from './query/feed.ts';
import { parseRequest, type ReadRequest } from './query/parse.ts';
import type { DatasetAnswer, DatasetQuestion } from './query/process.ts';
import { type DatasetState, type Form, type RowsAnswer, readRows, stateOf } from './query/read.ts';
import {
  type Column,
  columnsOf,
  type ListJob,
  pastRows,
  presentRows,
  rowOf,
  rowsSql,
  type Source,
  versionsOfRow,
} from './query/sql.ts';
import type { Caller } from './service/admission.ts';
import {
  ageOfProof,
  BUSY_SECONDS,
  finished,
  freshnessHeaders,
  MIN_COMPRESSED_BYTES,
  type Plan,
  type PlannedResponse,
  UNREADY_SECONDS,
} from './service/lists.ts';
import type { OpenMirror, WatchedMirror } from './service/mirror.ts';
import type { AnswerCall } from './service.ts';
import type { Loan, QueryProcesses } from './ui/query-processes.ts';
import { type Kept, untilCommit } from './until-commit.ts';

export type QueryParts = {
  dir: string;
  jobs: readonly ListedJob[];
  answerCall: AnswerCall;
  mirror: WatchedMirror;
  processes: Pick<QueryProcesses, 'take'>;
  /** The greatest age that is shown, in milliseconds, by job; a job that is not there has no bound. */
  maxAgeMs: Readonly<Record<string, number>>;
  clock: Pick<Clock, 'now' | 'after'>;
  /** Whether the key of a call is no longer valid. */
  hasLostKey(call: Call): boolean;
  turnMs?: number | undefined;
};

type QuerySurface = {
  readonly routes: readonly Route[];
  /** Ends streams of changes. */
  drain(): void;
  /** Errors below this surface have the form of PostgREST, whoever found them. */
  shape(path: string, response: StreamedResponse): StreamedResponse;
};

/** With what is kept of it while a call is planned. */
type KeptMirror = Pick<OpenMirror, 'connection' | 'name'> & { readonly kept: Kept };

/** An answer, but for its age and its encoding. */
type WholeAnswer = {
  readonly response: PlannedResponse & { readonly body: Uint8Array | string };
  readonly state: DatasetState;
  readonly etag: string;
};

const MAX_KEPT_BYTES = 16 * 1024 ** 2;

const keptAnswers = () => byteCache<WholeAnswer>(MAX_KEPT_BYTES, ({ response }) => response.body.length);

const inBytes = ({ response, ...rest }: WholeAnswer): WholeAnswer => ({
  ...rest,
  response: { ...response, body: Buffer.from(response.body) },
});

/** All of a call that its answer depends on. */
const questionOf = (call: Call, form: Form) => [call.incoming.url, form, countPreference(call)];

/** Of a question that sets no limit. */
const DEFAULT_MAX_ROWS = 1_000;
/** Of the largest list page of `/api/v1`. */
const ROWS_PER_CALL = 100;
const QUESTION_MS = 5_000;
/** For which a question waits for its turn: a connection on which nothing is sent for 30 s is closed. */
const TURN_MS = 20_000;

export function openQuery(parts: QueryParts): QuerySurface {
  const { dir, jobs, answerCall, mirror, maxAgeMs, clock, turnMs = TURN_MS } = parts;
  const lists = jobs.filter((job): job is ListJob => job.history !== null && job.versions !== null);
  const streams = openFeedStreams();

  /** A dataset is named by its table or by its job. Only a client with a key learns whether it exists. */
  const datasetRoute = (
    name: string,
    path: string,
    plan: (open: KeptMirror, job: ListJob, call: Call, caller: Caller) => Plan,
  ): Route => ({
    name,
    path,
    respond(call) {
      const wanted = call.params['dataset'] ?? '';
      const job = lists.find(({ name, table }) => wanted === name || wanted === table);
      return answerCall(call, job?.scope ?? null, (call, caller) =>
        planned(() => {
          if (!job)
            throw new QueryError(
              404,
              'PGRST205',
              `there is no dataset '${wanted.slice(0, 60)}'`,
              undefined,
              'See /mirror/v1/datasets.',
            );
          return inMirror((open) => plan(open, job, call, caller));
        }),
      );
    },
  });

  function planRows(open: KeptMirror, job: ListJob, call: Call, caller: Caller): Plan {
    const request = parseRequest(call.query, clock.now());
    const form = formOf(call.headers.accept);
    const isCounted = countPreference(call) !== undefined;
    const present = presentState(open, job);
    const point = pointOf(job, request, present);
    const sourceAt = sourceFinder(open, job, call.params['key']);
    const maxRows = request.limit === null ? DEFAULT_MAX_ROWS : null;
    const questionAt = (at: string | null): DatasetQuestion => {
      const rows = rowsSql(sourceAt(at), request, request.limit ?? DEFAULT_MAX_ROWS + 1);
      const { name, rows: stored } = job;
      return { dir, dataset: { name, rows: stored }, rows: { rows, form, maxRows, isCounted, at } };
    };
    const question = questionAt(point.at);
    return planAnswer(open, call, { ...present, seq: point.seq }, form, async () => {
      const gone = abortSignalOf(call);
      let answer = await ask<RowsAnswer>(gone, caller.account, question);
      const shown = pointOf(job, request, answer.state);
      // A proof has begun to remove rows since: it shows with its end, all at once.
      if (shown.at !== point.at) answer = await ask<RowsAnswer>(gone, caller.account, questionAt(shown.at));
      refuseUnpayable(answer.returned, caller);
      return rowsResponse(shownAt(answer, shown.seq), request, form, call);
    });
  }

  /** @param key of the row whose versions are meant; undefined for the rows of the dataset. */
  function sourceFinder(open: KeptMirror, job: ListJob, key?: string): (at: string | null) => Source {
    const columns = columnsFor(open, job, key === undefined ? job.table : job.history);
    if (key !== undefined) return (at) => versionsOfRow(job, columns, key, at);
    return (at) => (at === null ? presentRows(job, columns) : pastRows(job, columns, at));
  }

  /** One row, looked up by its key: so cheap that the service reads it itself. It is kept until somebody commits. */
  function planRow(open: KeptMirror, job: ListJob, call: Call): Plan {
    refuseOthers(call, ['select', 'seq', 'as_of']);
    const accepted = formOf(call.headers.accept);
    const present = presentState(open, job);
    const answers = open.kept('rows', keptAnswers);
    const question = JSON.stringify(questionOf(call, accepted));
    const kept = answers.get(question);
    if (kept) return planKept(kept, call);
    const key = call.params['key'] ?? '';
    const request = parseRequest(call.query, clock.now());
    const { seq, at } = pointOf(job, request, present);
    const make = () => rowsSql(rowOf(sourceFinder(open, job)(at)), request, 1);
    const isUsual = at === null && request.select === null;
    const { rows, count, columns } = isUsual ? open.kept(`row ${job.table}`, make) : make();
    const { sql, params } = rows;
    const one = { rows: { sql, params: { ...params, key } }, count, columns };
    const form = accepted === 'json' ? 'object' : accepted;
    const keep = (answer: WholeAnswer) => answers.set(question, inBytes(answer));
    const read = async () => {
      const encode = mirror.read(({ connection }) =>
        readRows(connection, job, { rows: one, form, maxRows: null, isCounted: false, at }),
      );
      if (!encode) throw busy();
      const answer = await encode();
      if (answer.returned === 0)
        throw new QueryError(
          404,
          'PGRST116',
          `there is no row ${JSON.stringify(key.slice(0, 60))} in ${job.table}`,
        );
      const total = countPreference(call) === undefined ? null : 1;
      const shown = pointOf(job, request, answer.state);
      return rowsResponse({ ...shownAt(answer, shown.seq), total }, request, accepted, call);
    };
    return planAnswer(open, call, { ...present, seq }, accepted, read, isUsual ? keep : undefined);
  }

  function presentState(open: KeptMirror, job: ListJob): DatasetState {
    const state = stateOf(open.connection, job, null, open.kept);
    if (state.readSeq === null) throw unready(job);
    refuseTooOld(job, state);
    return state;
  }

  function refuseTooOld(job: ListJob, state: DatasetState): void {
    if (isTooOld(ageOfProof(state, clock.now()), maxAgeMs[job.name])) throw unready(job);
  }

  /** What is known before the rows are read: that the client has them already, and the headers. @param keep gets what was read. */
  function planAnswer(
    open: KeptMirror,
    call: Call,
    state: DatasetState,
    form: Form,
    read: () => Promise<Pick<WholeAnswer, 'response' | 'state'>>,
    keep?: (answer: WholeAnswer) => void,
  ): Plan {
    const epoch = epochOf(open.connection, open.kept);
    const etagFor = ({ seq, volatileSeq }: DatasetState) =>
      digestEtag(JSON.stringify([open.name, epoch, seq, volatileSeq, ...questionOf(call, form)]));
    const known = call.headers['if-none-match'];
    if (known !== undefined && matchesEtag(known, etagFor(state))) return notModified(state, etagFor(state));
    return {
      costsQuota: true,
      read: () =>
        respondCaught(async () => {
          const { response, state } = await read();
          const answer = { response, state, etag: etagFor(state) };
          keep?.(answer);
          return await give(answer, call);
        }),
    };
  }

  function planKept(answer: WholeAnswer, call: Call): Plan {
    const { state, etag } = answer;
    if (matchesEtag(call.headers['if-none-match'], etag)) return notModified(state, etag);
    return { costsQuota: true, read: () => give(answer, call) };
  }

  const notModified = (state: DatasetState, etag: string) =>
    finished({ status: 304, headers: headersFor(state, etag), body: null });

  const give = ({ response, state, etag }: WholeAnswer, call: Call) =>
    encoded({ ...response, headers: Object.assign(headersFor(state, etag), response.headers) }, call);

  const headersFor = (state: Freshness, etag: string) =>
    Object.assign(freshnessHeaders(state, etag, clock.now()), { Vary });

  async function ask<Answer extends RowsAnswer | FeedAnswer>(
    gone: AbortSignal,
    account: string,
    question: DatasetQuestion,
  ): Promise<Answer> {
    const loan = await processFor(account, gone);
    try {
      const bounds = { signal: loan.signal, timeoutMs: QUESTION_MS };
      const answer = await loan.queries.send<DatasetQuestion, DatasetAnswer<Answer>>(question, bounds);
      if ('refused' in answer) throw QueryError.of(answer.refused);
      return answer;
    } catch (thrown) {
      throw loan.explain(thrown);
    } finally {
      loan.giveBack();
    }
  }

  /** @throws QueryError 503 where too many wait already, or it is still waiting after `turnMs`. */
  async function processFor(account: string, gone: AbortSignal): Promise<Loan> {
    const tooLate = new AbortController();
    const cancel = clock.after(turnMs, () => tooLate.abort());
    try {
      const loan = await parts.processes.take(accountOwner(account), AbortSignal.any([gone, tooLate.signal]));
      if (loan) return loan;
    } catch (thrown) {
      if (!tooLate.signal.aborted || gone.aborted) throw thrown;
    } finally {
      cancel();
    }
    throw busy('too many questions wait');
  }

  /** The datasets that the key may read. */
  const readableBy = ({ scopes }: Caller) => {
    const readable = lists.filter(({ scope }) => scope === null || scopes.includes(scope));
    if (readable.length > 0) return readable;
    throw new QueryError(403, '42501', 'This API key may not be used for this request.');
  };

  const surveyRoute = (
    name: string,
    path: string,
    plan: (open: KeptMirror, call: Call, caller: Caller) => Plan,
  ): Route => ({
    name,
    path,
    respond: (call) =>
      answerCall(call, null, (call, caller) => planned(() => inMirror((open) => plan(open, call, caller)))),
  });

  function planDatasets(open: KeptMirror, call: Call, caller: Caller): Plan {
    refuseOthers(call, []);
    if (formOf(call.headers.accept) !== 'json')
      throw new QueryError(406, 'PGRST107', 'The datasets come as application/json.');
    const described = readableBy(caller).map((job) =>
      describeDataset(
        job,
        columnsFor(open, job, job.table),
        stateOf(open.connection, job, null, open.kept),
        clock.now(),
      ),
    );
    const headers = { 'Content-Range': `0-${described.length - 1}/${described.length}`, Vary };
    return { costsQuota: true, read: () => jsonResponse(200, described, headers) };
  }

  function planChanges(open: KeptMirror, call: Call, caller: Caller): Plan {
    refuseOthers(call, ['since', 'limit']);
    const isStream = acceptsEvents(call);
    if (!isStream && formOf(call.headers.accept) !== 'json')
      throw new QueryError(406, 'PGRST107', 'Changes come as application/json or text/event-stream.');
    const readable = readableBy(caller);
    const states = readable.map((job) => {
      const state = stateOf(open.connection, job, null, open.kept);
      refuseTooOld(job, state);
      return state;
    });
    const datasets = readable.map((job): FeedDataset => {
      const { name, table, rows, history, versions } = job;
      const columns = columnsFor(open, job, table).filter(
        ({ name }) => !job.volatile.includes(name) && !isHeldColumn(name),
      );
      return { name, table, rows, history, versions, columns };
    });
    const name = {
      epoch: epochOf(open.connection, open.kept),
      datasets: digestEtag(datasets.map(({ table }) => table).join(' ')).slice(3, 9),
    };
    const text = (isStream && call.headers['last-event-id']) || call.query.get('since');
    const since = text ? readPosition(String(text), name) : null;
    const limit = limitOfChanges(call.query.get('limit'));
    const read = (gone: AbortSignal, from: Position | null) =>
      ask<FeedAnswer>(gone, caller.account, { dir, feed: { datasets, since: from, limit } });
    return {
      costsQuota: true,
      read: (takeMore) => respondCaught(() => (isStream ? stream(takeMore) : answer())),
    };

    async function answer(): Promise<PlannedResponse> {
      const found = await read(abortSignalOf(call), since);
      const { length } = found.changes;
      refuseUnpayable(length, caller);
      const json = feedBody(found, name);
      const etag = digestEtag(json);
      const headers = headersFor({ ...leastProven(states), seq: found.next.seq }, etag);
      if (matchesEtag(call.headers['if-none-match'], etag)) return { status: 304, headers, body: null };
      const shown = {
        'Content-Type': 'application/json',
        'Content-Range': length === 0 ? '*/0' : `0-${length - 1}/*`,
      };
      const furtherCalls = furtherCallsFor(length);
      return await encoded(
        { status: 200, headers: { ...headers, ...shown }, body: json, furtherCalls },
        call,
      );
    }

    /** Each hundred changes, or fewer that come at once, cost a call. */
    async function stream(takeMore: (calls: number) => boolean): Promise<PlannedResponse> {
      const gone = abortSignalOf(call);
      // A position that is refused is refused before the stream begins.
      let first: FeedAnswer | undefined = await read(gone, since);
      refuseUnpayable(first.changes.length, caller);
      const body = streams.open({
        ...{ name, account: caller.account, gone, since },
        async read(from) {
          const answer = first ?? (await read(gone, from).catch(endOfStream));
          const length = answer?.changes.length ?? 0;
          // The call itself pays for the first hundred of the first answer.
          const calls = length === 0 ? 0 : furtherCallsFor(length) + (first ? 0 : 1);
          first = undefined;
          return calls === 0 || takeMore(calls) ? answer : undefined;
        },
        version: () => mirror.read((open) => ({ now: open.version() }))?.now,
        mayListen: () => !parts.hasLostKey(call),
      });
      if (!body) throw busy('too many follow the changes');
      return { status: 200, headers: { ...EVENT_STREAM.headers, Vary, 'Content-Range': '*/*' }, body };
    }
  }

  function inMirror(plan: (open: KeptMirror) => Plan): Plan {
    const made = mirror.read(({ connection, name }) =>
      plan({ connection, name, kept: untilCommit(connection) }),
    );
    if (!made) throw busy();
    return made;
  }

  return {
    routes: [
      surveyRoute('mirror-datasets', '/mirror/v1/datasets', planDatasets),
      surveyRoute('mirror-changes', '/mirror/v1/changes', planChanges),
      datasetRoute('mirror-rows', '/mirror/v1/:dataset', planRows),
      datasetRoute('mirror-row', '/mirror/v1/:dataset/:key', planRow),
      datasetRoute('mirror-history', '/mirror/v1/:dataset/:key/history', planRows),
    ],
    drain: streams.end,
    shape(path, response) {
      if (response.status < 400 || !isQueryPath(path) || typeof response.body !== 'string') return response;
      const { error, message } = JSON.parse(response.body) as { error?: string; message: string };
      if (error === undefined) return response;
      return { ...response, body: JSON.stringify(toErrorBody(response.status, message)) };
    },
  };
}

const Vary = 'Accept, Prefer, Authorization, Accept-Encoding';

/** Of a feed, unless it says another number. */
const DEFAULT_CHANGES = 100;
const MAX_CHANGES = 1_000;

function limitOfChanges(text: string | null): number {
  if (text === null) return DEFAULT_CHANGES;
  if (/^[1-9]\d{0,8}$/.test(text)) return Math.min(Number(text), MAX_CHANGES);
  throw badParameter('limit must be a whole number, 1 or more');
}

type Freshness = Parameters<typeof freshnessHeaders>[0];

/** Several datasets are together as proven and as fresh as the least of them. */
function leastProven(states: readonly DatasetState[]): Omit<Freshness, 'seq'> {
  const verdict = (['union', 'verified'] as const).find((each) =>
    states.some(({ verdict }) => verdict === each),
  );
  const proofs = states.map(({ completeAsOf }) => completeAsOf).toSorted();
  return {
    verdict: verdict ?? 'snapshot',
    completeAsOf: proofs.includes(null) ? null : (proofs[0] ?? null),
    held: states.reduce((sum, { held }) => sum + held, 0),
  };
}

const acceptsEvents = ({ headers, method }: Call) =>
  method === 'GET' && /^\s*text\/event-stream\b/i.test(headers.accept ?? '');

function refuseOthers({ query }: Call, known: readonly string[]): void {
  const names = new Set(query.keys());
  for (const name of names)
    if (!known.includes(name))
      throw badParameter(
        `there is no parameter ${name.slice(0, 60)} here${known.length > 0 ? `, only ${known.join(', ')}` : ''}`,
      );
  if (names.size < query.size) throw badParameter('a parameter is given more than once');
}

const furtherCallsFor = (rows: number) => Math.max(0, Math.ceil(rows / ROWS_PER_CALL) - 1);

/** Refuses an answer that costs more calls than the quota ever has left: to ask again later would never help. */
function refuseUnpayable(rows: number, { limits: { quota } }: Caller): void {
  const calls = 1 + furtherCallsFor(rows);
  if (!quota || calls <= quota.calls) return;
  throw new QueryError(
    400,
    '54000',
    `the answer costs ${calls} calls, more than the whole quota of the account (${quota.calls})`,
    undefined,
    `Ask for ${quota.calls * ROWS_PER_CALL} rows at most (limit).`,
  );
}

/** What can be asked again after some seconds. */
class Unavailable extends QueryError {
  readonly seconds: number;

  constructor(seconds: number, message: string, details?: string) {
    super(503, 'MIRROR503', message, details);
    this.seconds = seconds;
  }
}

const unready = ({ table }: ListJob) =>
  new Unavailable(UNREADY_SECONDS, `${table} has not been read yet, or is older than this service shows`);

const busy = (details = 'the mirror cannot be read now') =>
  new Unavailable(BUSY_SECONDS, 'A required service is temporarily unavailable.', details);

/** A plan whose error is a response that costs nothing. */
function planned(plan: () => Plan): Plan {
  try {
    return plan();
  } catch (thrown) {
    return finished(responseTo(thrown));
  }
}

async function respondCaught(respond: () => Promise<PlannedResponse>): Promise<PlannedResponse> {
  try {
    return await respond();
  } catch (thrown) {
    return responseTo(thrown);
  }
}

function responseTo(thrown: unknown) {
  if (thrown instanceof QueryError)
    return errorResponse(thrown, thrown instanceof Unavailable ? retryAfter(thrown.seconds) : {});
  if (!(thrown instanceof Failure) || thrown.kind === 'bug') throw thrown;
  const error = new QueryError(
    503,
    '57014',
    'the question was ended',
    thrown.message,
    'Ask for less at a time.',
  );
  return errorResponse(error, retryAfter(BUSY_SECONDS));
}

/** @returns the point in time that is shown, and `at`, by which its rows are read: null for those of the table as it is. */
function pointOf(
  job: ListJob,
  { at }: ReadRequest,
  present: DatasetState,
): { seq: number; at: string | null } {
  if (at === null) return { seq: present.seq, at: present.isRemoving ? isoTime(present.seq) : null };
  const wanted = 'seq' in at ? at.seq : Date.parse(at.time);
  if ('seq' in at && wanted > present.seq)
    throw badParameter('seq is no X-Mirror-Seq of this dataset', 'No change has that number yet.');
  // A time after the latest change shows the rows as that change left them.
  const seq = Math.min(wanted, present.seq);
  const time = isoTime(present.isRemoving ? seq : wanted);
  if (seq < (present.readSeq ?? 0))
    throw new QueryError(
      410,
      'MIRROR410',
      describeBeginning(`The copy of ${job.name}`, isoTime(present.readSeq ?? 0)),
    );
  if (present.historyFrom !== null && time < present.historyFrom)
    throw new QueryError(
      410,
      'MIRROR410',
      'That moment is no longer kept.',
      `Moments are kept from ${present.historyFrom} on.`,
    );
  return { seq, at: time };
}

const shownAt = (answer: RowsAnswer, seq: number): RowsAnswer => ({
  ...answer,
  state: { ...answer.state, seq },
});

const forms: readonly (readonly [type: string, form: Form])[] = [
  ['application/json', 'json'],
  ['text/csv', 'csv'],
  ['application/x-ndjson', 'ndjson'],
  ['application/vnd.pgrst.object+json', 'object'],
];

/** @param accept of what a client likes alike, the first. @throws QueryError 406 */
function formOf(accept?: string): Form {
  if (accept === undefined || accept === '*/*') return 'json';
  for (const type of preferred(accept, 0)) {
    const pattern = type === '*/*' ? '' : type.replace(/\*$/, '');
    const found = forms.find(([known]) => (type.endsWith('*') ? known.startsWith(pattern) : known === type));
    if (found) return found[1];
  }
  throw new QueryError(406, 'PGRST107', `None of these media types are available: ${accept.slice(0, 200)}`);
}

/** `count=exact`, `planned` or `estimated`: all count exactly. */
const countPreference = ({ headers: { prefer } }: Call): string | undefined =>
  /(?:^|[,\s])count=(?:exact|planned|estimated)(?=$|[,;\s])/
    .exec(String(prefer ?? ''))?.[0]
    .replace(/^[,\s]/, '');

function rowsResponse(
  { body, returned, total, state }: RowsAnswer,
  { offset, limit }: Pick<ReadRequest, 'offset' | 'limit'>,
  form: Form,
  call: Call,
): Pick<WholeAnswer, 'response' | 'state'> {
  if (total !== null && offset > total)
    throw new QueryError(
      416,
      'PGRST103',
      'Requested range not satisfiable',
      `An offset of ${offset} was requested, but there are only ${total} rows.`,
    );
  if (form === 'object' && returned !== 1)
    throw new QueryError(
      406,
      'PGRST116',
      'JSON object requested, multiple (or no) rows returned',
      `Results contain ${returned} rows, application/vnd.pgrst.object+json requires 1 row`,
    );
  if (body === undefined)
    throw new QueryError(
      400,
      '54000',
      'the answer has more than 8 MB',
      undefined,
      'Ask for fewer rows (limit) or columns (select).',
    );
  // Nothing from the first row on is nothing at all.
  const known = total ?? (returned === 0 && offset === 0 && limit !== 0 ? 0 : null);
  const range = returned === 0 ? '*' : `${offset}-${offset + returned - 1}`;
  const preference = countPreference(call);
  const [type = ''] = forms.find(([, known]) => known === form) ?? [];
  const headers = {
    'Content-Type': form === 'csv' ? `${type}; charset=utf-8` : type,
    'Content-Range': `${range}/${known ?? '*'}`,
    ...(preference && { 'Preference-Applied': preference }),
  };
  const furtherCalls = furtherCallsFor(returned);
  const status = known !== null && returned < known ? 206 : 200;
  return { response: { status, headers, body, furtherCalls }, state };
}

async function encoded(response: WholeAnswer['response'], call: Call): Promise<PlannedResponse> {
  const encoding = encodingOf(call.headers['accept-encoding']);
  const { body, headers } = response;
  if (encoding === 'identity' || Buffer.byteLength(body) < MIN_COMPRESSED_BYTES) return response;
  const bytes = await compress(Buffer.from(body), encoding, 'quick');
  return { ...response, headers: { ...headers, 'Content-Encoding': encoding }, body: bytes };
}

/** A refusal ends a stream that has begun: the client connects again, and is told why. */
function endOfStream(thrown: unknown): undefined {
  if (thrown instanceof QueryError || (thrown instanceof Failure && thrown.kind !== 'bug')) return;
  throw thrown;
}

const columnsFor = ({ connection, kept }: KeptMirror, job: ListJob, view: string): Column[] =>
  kept(`columns ${view}`, () => columnsOf(connection, job, view));
