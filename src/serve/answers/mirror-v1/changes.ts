/**
 * The change feed: first the datasets as inserts, then every row that came, changed or went, in the order of the commits. A
 * client stores its position in the feed with its copy. Volatile values make no version, and are not part of the feed.
 */

import { isoTime } from '../../../base/clock.ts';
import { changesIn, type Gap, gapAfter } from '../../../reading/changes.ts';
import { type Connection, identityOf } from '../../../store/read.ts';
import { type Encoding, type Packed, packed } from '../../http/response.ts';
import { inReadTransaction, prepared } from '../mirror.ts';
import { badParameter, QueryError } from './errors.ts';
import { type DatasetState, jsonWriter, stateOf } from './read.ts';
import { type Column, columnsSql, type ListDataset, pastRows, type RowsSql, type Sql } from './sql.ts';

/** A dataset as the feed shows it: without volatile columns. */
export type FeedDataset = Pick<ListDataset, 'name' | 'table' | 'rows' | 'history' | 'versions'> & {
  readonly columns: readonly Column[];
};

/**
 * The feed goes on behind the change of `seq` and `key`, or behind all of `seq` where `key` is null. While the datasets are
 * inserted, `dataset` is that of the last row, and the rows are shown as they were at `seq`.
 */
export type Position = { readonly seq: number; readonly dataset: string | null; readonly key: string | null };

export type FeedQuestion = {
  readonly datasets: readonly FeedDataset[];
  /** Null for the beginning. */
  readonly since: Position | null;
  readonly limit: number;
};

export type FeedAnswer = {
  /** Of the datasets, in their order. */
  readonly states: readonly DatasetState[];
  /** Each as JSON, with the position behind it. */
  readonly changes: readonly { readonly json: string; readonly position: Position }[];
  readonly next: Position;
  readonly hasMore: boolean;
};

/** A position holds for one epoch of the mirror (a restore begins another), and for the datasets that its key reads. */
export type FeedName = { readonly epoch: string; readonly datasets: string };

export const writePosition = ({ epoch, datasets }: FeedName, { seq, dataset, key }: Position): string =>
  Buffer.from(JSON.stringify([epoch, datasets, seq, dataset, key])).toString('base64url');

/** The feed as one answer in JSON. */
export type FeedPage = Pick<FeedAnswer, 'states' | 'next'> & {
  readonly returned: number;
  readonly body: Packed;
};

export async function feedPage(
  { states, changes, next, hasMore }: FeedAnswer,
  name: FeedName,
  encoding: Encoding,
): Promise<FeedPage> {
  const rows = changes.map(({ json }) => json).join(',\n');
  const json = `{"changes":[${rows}],"next":"${writePosition(name, next)}","hasMore":${hasMore}}`;
  return { states, next, returned: changes.length, body: await packed(Buffer.from(json), encoding) };
}

const BEGIN_ANEW = 'Begin anew at /mirror/v1/changes, without since, and replace the copy.';

const TAKEN_BACK = 'The mirror was restored or made anew since.';

const gone = (details: string) =>
  new QueryError(410, 'MIRROR410', 'The feed cannot go on from there.', details, BEGIN_ANEW);

/** @param text `next` of an earlier answer, or the bare number of a change. @throws QueryError 400, 410 */
export function readPosition(text: string, { epoch, datasets }: FeedName): Position {
  if (/^\d{1,15}$/.test(text)) return { seq: Number(text), dataset: null, key: null };
  let parts: unknown;
  try {
    parts = JSON.parse(Buffer.from(text, 'base64url').toString());
  } catch {}
  const [ofEpoch, ofDatasets, seq, dataset, key] = Array.isArray(parts) ? parts : [];
  const isText = (value: unknown) => value === null || typeof value === 'string';
  if (!Number.isSafeInteger(seq) || Number(seq) < 0 || !isText(dataset) || !isText(key))
    throw badParameter('since must be next of an earlier answer, or the number of a change');
  if (ofEpoch !== epoch) throw gone(TAKEN_BACK);
  if (ofDatasets !== datasets) throw gone('The key reads other datasets than before.');
  return { seq: Number(seq), dataset, key };
}

export const epochOf = (connection: Connection): string => identityOf(connection)?.epoch.slice(0, 8) ?? '';

/** Of one answer; the changes behind it come with the next. */
const MAX_BYTES = 4_000_000;

export const feedStates = (
  connection: Connection,
  datasets: readonly Pick<FeedDataset, 'name' | 'rows'>[],
): DatasetState[] => datasets.map((dataset) => stateOf(connection, dataset, null));

const lastSeqOf = (states: readonly DatasetState[]) => Math.max(...states.map(({ seq }) => seq));

/** @throws QueryError 400 and 410 for a position from which the feed cannot go on. */
export function refusePosition(
  connection: Connection,
  datasets: readonly Pick<FeedDataset, 'name'>[],
  states: readonly DatasetState[],
  { seq, dataset: ofInserts, key }: Position,
): void {
  // A position within a commit needs the rest of that commit, too. One among the inserts needs only what follows their `seq`.
  const from = key === null || ofInserts !== null ? seq : seq - 1;
  for (const [at, dataset] of datasets.entries()) {
    const gap = gapAfter(connection, dataset, from);
    if (gap) throw gone(lost[gap](states[at]?.historyFrom ?? ''));
  }
  if (seq > lastSeqOf(states)) throw badParameter('since is no change of this mirror yet');
}

const lost: Record<Gap, (historyFrom: string) => string> = {
  restored: () => TAKEN_BACK,
  keys: () => 'Rows have other keys since then.',
  forgotten: (historyFrom) => `Changes up to ${historyFrom} were dropped.`,
};

/** @throws QueryError as `refusePosition` does. */
export function readChanges(connection: Connection, { datasets, since, limit }: FeedQuestion): FeedAnswer {
  return inReadTransaction(connection, (): FeedAnswer => {
    const states = feedStates(connection, datasets);
    const to = lastSeqOf(states);
    if (since !== null) refusePosition(connection, datasets, states, since);
    const from = since ?? { seq: to, dataset: null, key: null };
    const isBehind = since?.dataset === null;
    const changes = isBehind
      ? readBehind(connection, datasets, from, to, limit)
      : readInserts(connection, datasets, from, limit);
    return { ...changes, states };
  });
}

type Changes = Omit<FeedAnswer, 'states'>;

type Change = { at: string; key: string; change: string; row: readonly unknown[] };

/** The datasets one after the other, as they were at `seq`, by their keys. */
function readInserts(
  connection: Connection,
  datasets: readonly FeedDataset[],
  from: Position,
  limit: number,
): Changes {
  const collected = collector(limit);
  const started = Math.max(
    0,
    datasets.findIndex(({ table }) => table === from.dataset),
  );
  for (const [n, dataset] of datasets.slice(started).entries()) {
    const { columns, sql, params } = columnsSql(dataset);
    const source = pastRows(dataset, dataset.columns, isoTime(from.seq));
    const rows = prepared(
      connection,
      `SELECT "_key", "_changed_at", ${sql} FROM ${source.from} WHERE "_key" > :key ORDER BY "_key" LIMIT :limit + 0`,
    ).raw();
    const values = { ...params, ...source.params, key: n === 0 ? (from.key ?? '') : '', limit: limit + 1 };
    const write = changeWriter(dataset, columns);
    for (const [key, at, ...row] of rows.iterate(values) as Iterable<[string, string]>) {
      const position = { seq: from.seq, dataset: dataset.table, key };
      if (!collected.add(write({ at, key, change: 'insert', row }), position)) return collected.answer(true);
    }
  }
  return collected.answer(false, { seq: from.seq, dataset: null, key: null });
}

function readBehind(
  connection: Connection,
  datasets: readonly FeedDataset[],
  since: Position,
  to: number,
  limit: number,
): Changes {
  const found = datasets.flatMap((dataset) => {
    const { columns, ...shown } = columnsSql(dataset);
    const write = changeWriter(dataset, columns);
    return changesOf(connection, dataset, shown, since, to, limit + 1).map((change) => ({
      ...change,
      write,
    }));
  });
  found.sort(
    (one, other) => compare(one.at, other.at) || Buffer.compare(Buffer.from(one.key), Buffer.from(other.key)),
  );
  const collected = collector(limit);
  for (const { write, ...change } of found) {
    const position = { seq: Date.parse(change.at), dataset: null, key: change.key };
    if (!collected.add(write(change), position)) return collected.answer(true);
  }
  return collected.answer(false, { seq: Math.max(to, since.seq), dataset: null, key: null });
}

const compare = (one: string, other: string) => (one < other ? -1 : one > other ? 1 : 0);

/** What a dataset's commits changed behind a position. */
function changesOf(
  connection: Connection,
  dataset: FeedDataset,
  { sql: shown, params: values }: Sql,
  { seq, key }: Position,
  to: number,
  limit: number,
): Change[] {
  const from = key === null ? seq : seq - 1;
  const sql = changesIn(connection, dataset, { from, to }).map(
    ({ change, at, from }) =>
      `SELECT ${at}, _key, ${change}, ${at === '_valid_to' ? dataset.columns.map(() => 'NULL') : shown} FROM ${from}
       AND (${at} > :at OR _key > :key)`,
  );
  // The numbers of the last rows differ each time: the statement is not worth keeping.
  const statement = connection.prepare(`${sql.join('\nUNION ALL ')}\nORDER BY 1, 2 LIMIT :limit`).raw();
  const params = { ...values, at: isoTime(seq), key: key ?? '', limit };
  return (statement.all(params) as [string, string, string, ...unknown[]][]).map(
    ([at, key, change, ...row]) => ({ at, key, change, row }),
  );
}

function changeWriter({ table }: FeedDataset, columns: RowsSql['columns']) {
  const { row: rowJson } = jsonWriter(columns, 'json');
  return ({ at, key, change, row }: Change) => {
    const head = JSON.stringify({ seq: Date.parse(at), at, dataset: table, key, change });
    return `${head.slice(0, -1)},"row":${change === 'delete' ? 'null' : rowJson(row)}}`;
  };
}

/** Changes up to a bound of number and bytes. */
function collector(limit: number) {
  const changes: { json: string; position: Position }[] = [];
  let bytes = 0;
  return {
    /** @returns false where it is one too many. */
    add(json: string, position: Position): boolean {
      if (changes.length >= limit || (bytes > 0 && bytes + json.length > MAX_BYTES)) return false;
      bytes += json.length;
      changes.push({ json, position });
      return true;
    },
    answer(hasMore: boolean, next?: Position): Changes {
      return { changes, next: next ?? (changes.at(-1) as (typeof changes)[number]).position, hasMore };
    },
  };
}
