/**
 * The second surface, `/mirror/v1`: questions in PostgREST's read syntax. A question goes the way of every call (`answers.ts`):
 * the key, the limits, what the response may cost, the rows. What differs is here: the question is parsed and becomes SQL, and a
 * query process, which can be killed, reads the rows.
 */

import { isoTime, isTooOld } from '../../base/clock.ts';
import { Failure } from '../../base/errors.ts';
import { describeBeginning } from '../../base/time.ts';
import { isHeldColumn } from '../../reading/columns.ts';
import { analystViewsOf, type Connection, isBeforeRestore, quoted } from '../../store/read.ts';
import { accountOwner, type Caller } from '../access/admission.ts';
import { BUSY_SECONDS, finished, type Plan, type PlannedResponse, UNREADY_SECONDS } from '../answers.ts';
import type { Call, Route } from '../http/handler.ts';
import {
  abortSignalOf,
  digestEtag,
  type Encoding,
  encodingOf,
  jsonResponse,
  matchesEtag,
  packedHeaders,
  preferred,
  retryAfter,
  type StreamedResponse,
} from '../http/response.ts';
import { ageOfProof, freshnessHeaders, type SurfaceParts } from './api-v1.ts';
import { describeDataset } from './column-meanings.ts';
import { type OpenMirror, prepared } from './mirror.ts';
import {
  epochOf,
  type FeedDataset,
  type FeedName,
  type FeedPage,
  type FeedQuestion,
  feedStates,
  readPosition,
  refusePosition,
} from './mirror-v1/changes.ts';
import {
  badParameter,
  errorResponse,
  isQueryPath,
  QueryError,
  type QueryErrorData,
  toErrorBody,
} from './mirror-v1/errors.ts';
import { parseRequest, type ReadRequest } from './mirror-v1/parse.ts';
import {
  type DatasetState,
  type Form,
  type RowsAnswer,
  type RowsQuestion,
  stateOf,
} from './mirror-v1/read.ts';
import {
  columnsOf,
  freshnessOf,
  type ListDataset,
  pastRows,
  presentRows,
  rowOf,
  rowsSql,
  type Source,
  versionsOfRow,
  viewRows,
} from './mirror-v1/sql.ts';

/** A question of `/mirror/v1`. @property dir the folder of the mirror. */
export type DatasetQuestion = { readonly dir: string } & (
  | { readonly dataset: { readonly name: string; readonly rows: string }; readonly rows: RowsQuestion }
  | { readonly feed: FeedQuestion; readonly name: FeedName; readonly encoding: Encoding }
);

/** The answer, or why there is none. */
export type DatasetAnswer<Answer extends RowsAnswer | FeedPage> =
  | Answer
  | { readonly refused: QueryErrorData };

type QuerySurface = {
  readonly routes: readonly Route[];
  /** Errors below this surface have the form of PostgREST, whoever found them. */
  formatError(path: string, response: StreamedResponse): StreamedResponse;
};

/** Whether a query process has been at work for an answer: then an error costs a call, too. */
type Effort = { wasRead: boolean };

type WholeResponse = PlannedResponse & { readonly body: Uint8Array | string };

/** What rows are asked for. @property point as of `pointOf`. */
type RowsRequest = {
  readonly job: ListDataset;
  readonly request: ReadRequest;
  readonly point: ReturnType<typeof pointOf>;
};

/** All of a call that its answer depends on. */
const questionOf = (call: Call, form: Form) => [call.incoming.url, form, countPreference(call)];

/** Of a question that sets no limit. */
const DEFAULT_MAX_ROWS = 1_000;
/** Of the largest list page of `/api/v1`. */
const ROWS_PER_CALL = 100;
const QUESTION_MS = 5_000;

export function openQuery(parts: SurfaceParts): QuerySurface {
  const { dir, jobs, answerCall, mirror, pool, maxAgeMs, clock, questionMs = QUESTION_MS } = parts;
  const lists = jobs.filter((job): job is ListDataset => job.history !== null && job.versions !== null);

  /** The views over a dataset that queries name. */
  const viewsOf = (connection: Connection, job: ListDataset): string[] => [
    ...job.views.map(({ name }) => name),
    ...analystViewsOf(connection, job).map(({ name }) => name),
  ];

  /** The list that a name means, or whose view it may be: the name of a view begins with that of its table, or a job declares it. */
  function listOf(wanted: string): ListDataset | undefined {
    const named = lists.find(({ name, table }) => wanted === name || wanted === table);
    if (named) return named;
    const declared = lists.find(({ views }) => views.some(({ name }) => name === wanted));
    const around = lists.filter(({ table }) => wanted.startsWith(`${table}_`));
    return declared ?? around.sort((one, other) => other.table.length - one.table.length)[0];
  }

  /** A dataset is named by its table or by its job, a view over it by its name. Only a client with a key learns whether it exists. */
  const datasetRoute = (
    name: string,
    path: string,
    plan: (open: OpenMirror, job: ListDataset, call: Call, caller: Caller) => Plan,
  ): Route => ({
    name,
    path,
    respond(call) {
      const wanted = call.params['dataset'] ?? '';
      const job = listOf(wanted);
      return answerCall(call, job?.scope ?? null, (call, caller) =>
        planned(() =>
          inMirror((open) => {
            const isDataset = wanted === job?.name || wanted === job?.table;
            const isView =
              job && !isDataset && name === 'mirror-rows' && viewsOf(open.connection, job).includes(wanted);
            if (!job || !(isDataset || isView))
              throw new QueryError(
                404,
                'PGRST205',
                `there is no dataset '${wanted.slice(0, 60)}'`,
                undefined,
                'See /mirror/v1/datasets.',
              );
            return plan(open, job, call, caller);
          }),
        ),
      );
    },
  });

  /** The rows of a dataset, or the versions of one. */
  function planRows(open: OpenMirror, job: ListDataset, call: Call, caller: Caller): Plan {
    const request = parseRequest(call.query, clock.now());
    const form = formOf(call.headers.accept);
    const isCounted = countPreference(call) !== undefined;
    const { point, state } = stateAsked(open, job, request);
    const wanted = call.params['dataset'] ?? '';
    const isView = wanted !== job.name && wanted !== job.table;
    if (isView && request.at !== null)
      throw badParameter(`${wanted} shows the present: seq and as_of can be asked of ${job.table}`);
    const view = isView && viewRows(open.connection, job, wanted);
    const sourceAt = view ? () => view : sourceFinder(open, job, call.params['key']);
    const limit = request.limit ?? DEFAULT_MAX_ROWS;
    // One more row shows that there are more.
    const maxRows = request.limit === null ? DEFAULT_MAX_ROWS : null;
    const question = (asked: DatasetQuestion, effort: Effort) =>
      ask<RowsAnswer>(abortSignalOf(call), caller.account, asked, effort);
    const read = rowsReader({ job, request, point }, question, (at) => ({
      ...{ form, maxRows, isCounted, at: request.at, encoding: encodingFor(call) },
      rows: rowsSql(sourceAt(at), request, maxRows === null ? limit : limit + 1),
    }));
    const count = isView ? undefined : () => countRows(open, job, point.at, limit, call.params['key']);
    const calls = mostCalls(caller, limit, count);
    return planAnswer(open, call, state, form, calls, async (effort) =>
      rowsResponse(await read(effort), request, form, call),
    );
  }

  /** One row, looked up by its key. */
  function planRow(open: OpenMirror, job: ListDataset, call: Call): Plan {
    refuseOthers(call, ['select', 'seq', 'as_of']);
    const request = parseRequest(call.query, clock.now());
    const accepted = formOf(call.headers.accept);
    const key = call.params['key'] ?? '';
    const { point, state } = stateAsked(open, job, request);
    const sourceAt = sourceFinder(open, job);
    const quickly = (asked: DatasetQuestion, effort: Effort) =>
      answerOf<RowsAnswer>(() => pool.quick(asked, questionMs), effort);
    const read = rowsReader({ job, request, point }, quickly, (at) => ({
      ...{ form: accepted === 'json' ? 'object' : accepted, maxRows: null, isCounted: false },
      ...{ at: request.at, encoding: encodingFor(call) },
      rows: rowsSql(rowOf(sourceAt(at), key), request, 1),
    }));
    return planAnswer(open, call, state, accepted, 1, async (effort) => {
      const answer = await read(effort);
      if (answer.returned === 0)
        throw new QueryError(
          404,
          'PGRST116',
          `there is no row ${JSON.stringify(key.slice(0, 60))} in ${job.table}`,
        );
      const total = countPreference(call) === undefined ? null : 1;
      return rowsResponse({ ...answer, total }, request, accepted, call);
    });
  }

  /** @param key of the row whose versions are meant; undefined for the rows of the dataset. */
  function sourceFinder(open: OpenMirror, job: ListDataset, key?: string): (at: string | null) => Source {
    const columns = columnsOf(open.connection, job, key === undefined ? job.table : job.history);
    if (key !== undefined) return (at) => versionsOfRow(job, columns, key, at);
    return (at) => (at === null ? presentRows(job, columns) : pastRows(job, columns, at));
  }

  /**
   * @param questionAt the question at a point in time, as of `pointOf`.
   * @returns what reads the rows and the state that they show.
   */
  function rowsReader(
    { job, request, point }: RowsRequest,
    read: (question: DatasetQuestion, effort: Effort) => Promise<RowsAnswer>,
    questionAt: (at: string | null) => RowsQuestion,
  ): (effort: Effort) => Promise<RowsAnswer> {
    const dataset = { name: job.name, rows: job.rows };
    // A mistake in it shows before anything is read.
    const question = questionAt(point.at);
    return async (effort) => {
      let answer = await read({ dir, dataset, rows: question }, effort);
      const shown = pointOf(job, request, answer.state);
      // A commit since the plan has moved the point that is shown: read as of there.
      if (shown.at !== point.at) answer = await read({ dir, dataset, rows: questionAt(shown.at) }, effort);
      return { ...answer, state: { ...answer.state, seq: shown.seq } };
    };
  }

  /** The point in time that is asked for, and the state of the dataset then. */
  function stateAsked({ connection }: OpenMirror, job: ListDataset, request: ReadRequest) {
    const present = stateOf(connection, job, null);
    if (present.readSeq === null) throw unready(job);
    refuseTooOld(job, present);
    const { at } = request;
    // Another moment has its number now.
    if (at !== null && 'seq' in at && isBeforeRestore(connection, at.seq))
      throw gone('A restore of the mirror took it back.');
    const state = at === null ? present : stateOf(connection, job, at);
    const point = pointOf(job, request, state);
    return { point, state: { ...state, seq: point.seq } };
  }

  function refuseTooOld(job: ListDataset, state: DatasetState): void {
    if (isTooOld(ageOfProof(state, clock.now()), maxAgeMs[job.name])) throw unready(job);
  }

  /** What is known before the rows are read: that the client has them already, and the headers. @param calls that it costs at most. */
  function planAnswer(
    open: OpenMirror,
    call: Call,
    state: DatasetState,
    form: Form,
    calls: number,
    read: (effort: Effort) => Promise<{ response: WholeResponse; state: DatasetState }>,
  ): Plan {
    const epoch = epochOf(open.connection);
    const etagFor = ({ seq, volatileSeq }: DatasetState) =>
      digestEtag(JSON.stringify([open.name, epoch, seq, volatileSeq, ...questionOf(call, form)]));
    const known = call.headers['if-none-match'];
    if (known !== undefined && matchesEtag(known, etagFor(state)))
      return finished({ status: 304, headers: headersFor(state, etagFor(state)), body: null });
    return {
      calls,
      read: () =>
        respondCaught(async (effort) => {
          const { response, state } = await read(effort);
          const headers = Object.assign(headersFor(state, etagFor(state)), response.headers);
          return { ...response, headers };
        }),
    };
  }

  const headersFor = (state: Freshness, etag: string) =>
    Object.assign(freshnessHeaders(state, etag, clock.now()), { Vary });

  async function ask<Answer extends RowsAnswer | FeedPage>(
    gone: AbortSignal,
    account: string,
    question: DatasetQuestion,
    effort: Effort,
  ): Promise<Answer> {
    const loan = await pool.take(accountOwner(account), gone);
    if (!loan) throw busy('too many questions wait');
    const bounds = { signal: gone, timeoutMs: questionMs };
    return await answerOf<Answer>(() => loan.queries.send(question, bounds), effort).finally(loan.giveBack);
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
    plan: (open: OpenMirror, call: Call, caller: Caller) => Plan,
  ): Route => ({
    name,
    path,
    respond: (call) =>
      answerCall(call, null, (call, caller) => planned(() => inMirror((open) => plan(open, call, caller)))),
  });

  function planDatasets(open: OpenMirror, call: Call, caller: Caller): Plan {
    refuseOthers(call, []);
    if (formOf(call.headers.accept) !== 'json')
      throw new QueryError(406, 'PGRST107', 'The datasets come as application/json.');
    const described = readableBy(caller).map((job) =>
      describeDataset(
        job,
        columnsOf(open.connection, job, job.table),
        viewsOf(open.connection, job),
        stateOf(open.connection, job, null),
        clock.now(),
      ),
    );
    const headers = { 'Content-Range': `0-${described.length - 1}/${described.length}`, Vary };
    return { calls: 1, read: () => jsonResponse(200, described, headers) };
  }

  function planChanges(open: OpenMirror, call: Call, caller: Caller): Plan {
    refuseOthers(call, ['since', 'limit']);
    if (formOf(call.headers.accept) !== 'json')
      throw new QueryError(406, 'PGRST107', 'Changes come as application/json.');
    const readable = readableBy(caller);
    for (const job of readable) refuseTooOld(job, stateOf(open.connection, job, null));
    const datasets = readable.map((job): FeedDataset => {
      const { name, table, rows, history, versions } = job;
      const columns = columnsOf(open.connection, job, table).filter(
        ({ name }) => !job.volatile.includes(name) && !isHeldColumn(name),
      );
      return { name, table, rows, history, versions, columns };
    });
    const name = {
      epoch: epochOf(open.connection),
      datasets: digestEtag(datasets.map(({ table }) => table).join(' ')).slice(3, 9),
    };
    const text = call.query.get('since');
    const since = text ? readPosition(text, name) : null;
    const limit = limitOfChanges(call.query.get('limit'));
    const states = feedStates(open.connection, datasets);
    if (since !== null) refusePosition(open.connection, datasets, states, since);
    /** The same as long as the answer is. */
    const etagFor = (states: readonly DatasetState[]) =>
      digestEtag(
        JSON.stringify([
          ...[open.name, name.epoch, since, limit, datasets.map(({ table, columns }) => [table, columns])],
          states.map(({ seq, historyFrom }) => [seq, historyFrom]),
        ]),
      );
    if (matchesEtag(call.headers['if-none-match'], etagFor(states))) {
      // That of the answer, which the client has.
      const { 'X-Mirror-Seq': _, ...headers } = headersFor(
        { ...leastProven(states), seq: 0 },
        etagFor(states),
      );
      return finished({ status: 304, headers, body: null });
    }
    return { calls: mostCalls(caller, limit), read: () => respondCaught(answer) };

    async function answer(effort: Effort): Promise<PlannedResponse> {
      const feed = { datasets, since, limit };
      const question = { dir, feed, name, encoding: encodingFor(call) };
      const { states, next, returned, body } = await ask<FeedPage>(
        abortSignalOf(call),
        caller.account,
        question,
        effort,
      );
      const headers = {
        ...headersFor({ ...leastProven(states), seq: next.seq }, etagFor(states)),
        ...packedHeaders(body),
        'Content-Type': 'application/json',
        'Content-Range': returned === 0 ? '*/0' : `0-${returned - 1}/*`,
      };
      return { status: 200, headers, body: body.bytes, calls: callsFor(returned) };
    }
  }

  /** How fresh the datasets are that the key may read: it is known for now only. */
  function planFreshness(open: OpenMirror, call: Call, caller: Caller): Plan {
    const request = parseRequest(call.query, clock.now());
    if (request.at !== null) throw badParameter('freshness is known for now only');
    const form = formOf(call.headers.accept);
    const [dataset, ...others] = readableBy(caller);
    if (!dataset) throw busy();
    const rows = rowsSql(
      freshnessOf(open.connection, [dataset, ...others]),
      request,
      request.limit ?? DEFAULT_MAX_ROWS,
    );
    const isCounted = countPreference(call) !== undefined;
    const question = {
      dir,
      dataset,
      rows: { rows, form, maxRows: null, isCounted, at: null, encoding: encodingFor(call) },
    };
    return {
      calls: 1,
      read: () =>
        respondCaught(async (effort) => {
          const answer = await answerOf<RowsAnswer>(() => pool.quick(question, questionMs), effort);
          const { response } = rowsResponse(answer, request, form, call);
          return { ...response, headers: { ...response.headers, 'Cache-Control': 'no-store', Vary } };
        }),
    };
  }

  function inMirror(plan: (open: OpenMirror) => Plan): Plan {
    const made = mirror.read(plan);
    if (!made) throw busy();
    return made;
  }

  return {
    routes: [
      ...['/mirror/v1', '/mirror/v1/'].map((path) => ({
        name: 'mirror',
        path,
        respond: () => jsonResponse(200, index),
      })),
      surveyRoute('mirror-freshness', '/mirror/v1/freshness', planFreshness),
      surveyRoute('mirror-datasets', '/mirror/v1/datasets', planDatasets),
      surveyRoute('mirror-changes', '/mirror/v1/changes', planChanges),
      datasetRoute('mirror-rows', '/mirror/v1/:dataset', planRows),
      datasetRoute('mirror-row', '/mirror/v1/:dataset/:key', planRow),
      datasetRoute('mirror-history', '/mirror/v1/:dataset/:key/history', planRows),
    ],
    formatError(path, response) {
      if (response.status < 400 || !isQueryPath(path) || typeof response.body !== 'string') return response;
      const { error, message } = JSON.parse(response.body) as { error?: string; message: string };
      if (error === undefined) return response;
      return { ...response, body: JSON.stringify(toErrorBody(response.status, message)) };
    },
  };
}

/** For a person who finds it: it says nothing of the mirror, so it needs no key. */
const index = {
  about: "The mirror's rows in PostgREST's read syntax, with Authorization: Bearer <key>.",
  paths: {
    '/mirror/v1/datasets': 'the datasets that the key may read, with their columns and views',
    '/mirror/v1/freshness': 'how fresh and how complete each of them is',
    '/mirror/v1/<dataset or view>': 'its rows: ?column=eq.value&order=column.desc&select=a,b&limit=10',
    '/mirror/v1/<dataset>/<key>': 'one row',
    '/mirror/v1/<dataset>/<key>/history': 'its versions',
    '/mirror/v1/changes': 'what changed: ?since=<next of the answer before>',
    '/openapi.json': 'all of it, for programs',
  },
  operators:
    'eq, neq, gt, gte, lt, lte, like, ilike, in.(a,b), cs.{a,b} (a list that holds them), is.null, not.…',
};

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

function refuseOthers({ query }: Call, known: readonly string[]): void {
  const names = new Set(query.keys());
  for (const name of names)
    if (!known.includes(name))
      throw badParameter(
        `there is no parameter ${name.slice(0, 60)} here${known.length > 0 ? `, only ${known.join(', ')}` : ''}`,
      );
  if (names.size < query.size) throw badParameter('a parameter is given more than once');
}

const callsFor = (rows: number) => Math.max(1, Math.ceil(rows / ROWS_PER_CALL));

/**
 * How many calls an answer of `limit` rows at most may cost, which are taken before it is read.
 * @param count how many rows there are at most; asked only where that matters.
 * @throws QueryError where the quota never has so many left: to ask again later would never help.
 */
function mostCalls({ limits: { quota } }: Caller, limit: number, count = () => limit): number {
  if (!quota || limit <= ROWS_PER_CALL) return 1;
  const calls = callsFor(Math.min(limit, count()));
  if (calls <= quota.calls) return calls;
  throw new QueryError(
    400,
    '54000',
    `the answer may cost ${calls} calls, more than the whole quota of the account (${quota.calls})`,
    undefined,
    `Ask for ${quota.calls * ROWS_PER_CALL} rows at most (limit).`,
  );
}

/** How many rows there are to choose from, without any condition; no more are counted than matter. @param at the point in time; null for the present. */
function countRows(
  { connection }: OpenMirror,
  job: ListDataset,
  at: string | null,
  most: number,
  key?: string,
): number {
  const tables = at === null && key === undefined ? [job.rows] : [job.rows, job.versions];
  const [where, ...values] = key === undefined ? [''] : [' WHERE _key = ?', key];
  const count = (table: string) =>
    prepared(connection, `SELECT count(*) FROM (SELECT 1 FROM ${quoted(table)}${where} LIMIT ?)`)
      .pluck()
      .get(...values, most) as number;
  return tables.reduce((sum, table) => sum + count(table), 0);
}

/** What can be asked again after some seconds. */
class Unavailable extends QueryError {
  readonly seconds: number;

  constructor(seconds: number, message: string, details?: string) {
    super(503, 'MIRROR503', message, details);
    this.seconds = seconds;
  }
}

const unready = ({ table }: ListDataset) =>
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

async function respondCaught(
  respond: (effort: Effort) => Promise<PlannedResponse>,
): Promise<PlannedResponse> {
  const effort: Effort = { wasRead: false };
  try {
    return await respond(effort);
  } catch (thrown) {
    return { ...responseTo(thrown), calls: effort.wasRead ? 1 : 0 };
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

const gone = (details: string) => new QueryError(410, 'MIRROR410', 'That moment is no longer kept.', details);

/**
 * @param state of the dataset then.
 * @returns the point in time that is shown, and `at`, by which its rows are read: null for those of the table as it is.
 */
function pointOf(
  job: ListDataset,
  { at }: ReadRequest,
  state: DatasetState,
): { seq: number; at: string | null } {
  if (at === null) return { seq: state.seq, at: null };
  const wanted = 'seq' in at ? at.seq : Date.parse(at.time);
  if ('seq' in at && wanted > state.lastNamed)
    throw badParameter('seq is no X-Mirror-Seq of this dataset', 'No change has that number yet.');
  // A time after the latest change shows the rows as that change left them.
  const seq = Math.min(wanted, state.seq);
  if (seq < (state.readSeq ?? 0))
    throw new QueryError(
      410,
      'MIRROR410',
      describeBeginning(`The copy of ${job.name}`, isoTime(state.readSeq ?? 0)),
    );
  if (state.historyFrom !== null && isoTime(wanted) < state.historyFrom)
    throw gone(`Moments are kept from ${state.historyFrom} on.`);
  return { seq, at: state.end };
}

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
): { response: WholeResponse; state: DatasetState } {
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
    ...packedHeaders(body),
  };
  const status = known !== null && returned < known ? 206 : 200;
  return { response: { status, headers, body: body.bytes, calls: callsFor(returned) }, state };
}

const encodingFor = ({ headers }: Call): Encoding => encodingOf(headers['accept-encoding']);

/** @throws QueryError for a question that the process refuses. */
async function answerOf<Answer extends RowsAnswer | FeedPage>(
  send: () => Promise<DatasetAnswer<Answer>>,
  effort: Effort,
): Promise<Answer> {
  effort.wasRead = true;
  try {
    const answer = await send();
    if ('refused' in answer) throw QueryError.of(answer.refused);
    return answer;
  } catch (thrown) {
    // The mirror fails: that is not the client's doing.
    if (thrown instanceof Failure && thrown.kind !== 'incomplete') effort.wasRead = false;
    throw thrown;
  }
}
