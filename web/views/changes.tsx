/** What changed, walk by walk, the latest first: rows that came, changed or went, with the fields that became others. */

import { useMemo, useState } from 'preact/hooks';
import type { PageCell, Schema } from '../../src/serve/page/wire.ts';
import { useFetched, useSchema } from '../ask.ts';
import { serviceNow } from '../clock.ts';
import { count, cutMiddle, DAY_MS, HOUR_MS, number } from '../formats.ts';
import { useLive } from '../live.ts';
import { Heading, Tabs } from '../parts/heading.tsx';
import { Awaited, Empty, Failed, Loading } from '../parts/states.tsx';
import { Time } from '../parts/time.tsx';
import { askOf, condition, conditionsIn, type Term, valueIn } from '../question.ts';
import { go, linkHere, linkTo, linkWhere, usePageAddress } from '../router.ts';
import { pathOf, type ViewOf } from '../routes.ts';
import { answerTo, type Outcome } from '../service.ts';
import { Choice, DatasetChoice, Filters, JobLink, TimeFilters, WalkFilter, WalkLink } from './browsing.tsx';
import { isBookkeeping, leadingColumns } from './dataset/columns.ts';

const spans = {
  '1h': { label: '1 hour', ms: HOUR_MS },
  '24h': { label: '24 hours', ms: DAY_MS },
  '7d': { label: '7 days', ms: 7 * DAY_MS },
};
type Span = keyof typeof spans;
const isSpan = (text: string): text is Span => Object.hasOwn(spans, text);

/** Later than any change, and written with four digits for the year. */
const FOREVER = Date.UTC(9999, 0);

const kinds = {
  new: { label: 'new', tag: 'good' },
  changed: { label: 'changed', tag: 'accent' },
  gone: { label: 'gone', tag: 'bad' },
} as const;
type Kind = keyof typeof kinds;
const kindChoices = {
  Change: { 'kind=eq.new': 'new', 'kind=eq.changed': 'changed', 'kind=eq.gone': 'gone' },
};

type Dataset = Schema['jobs'][number];

export const ChangesView: ViewOf<'changes'> = () => {
  const schema = useSchema();
  const { overview } = useLive();
  const { search } = usePageAddress();
  const since = search.get('since');
  const span = spanOf(search);
  return (
    <>
      <Heading title="Changes">
        <Tabs
          label="Time shown"
          tabs={Object.entries(spans).map(([each, { label }]) => ({
            text: label,
            link: linkHere({ since: each, from: null, to: null }),
            isHere: each === span,
          }))}
        />
      </Heading>
      {since !== null && !isSpan(since) && (
        <Failed
          problem={{ kind: 'usage', message: `There is no time “${since}”: choose one of the three above.` }}
        />
      )}
      {schema.problem && <Failed problem={schema.problem} again={schema.again} />}
      {schema.value && overview ? <Changes schema={schema.value} /> : !schema.problem && <Loading />}
    </>
  );
};

/** Unless the address says otherwise, a day; of a walk, whenever that was. */
function spanOf(search: URLSearchParams): Span | null {
  const since = search.get('since');
  if (since !== null) return isSpan(since) ? since : null;
  return search.has('walk_id') || search.has('from') || search.has('to') ? null : '24h';
}

function Changes({ schema }: { schema: Schema }) {
  const { search, at } = usePageAddress();
  const { overview } = useLive();
  // Later changes move no row under the pointer: a button shows them, and so does another choice.
  const [turn, setTurn] = useState(0);
  const here = linkHere({ to: null });
  const shownAt = useMemo(serviceNow, [here, turn]);
  const end = Date.parse(search.get('to') ?? at ?? '') || FOREVER;
  const until = Math.min(shownAt, end);
  const span = spanOf(search);
  const from = span === null ? search.get('from') : new Date(until - spans[span].ms).toISOString();
  const job = valueIn(search, 'job');
  const dataset = schema.jobs.find(({ name }) => name === job);
  const lastChangeOf = ({ name }: Dataset) =>
    overview?.status.datasets.find((one) => one.job === name)?.lastChange ?? null;
  const chosen = dataset ? [dataset] : schema.jobs;
  // Only datasets that changed since then are asked.
  const recent = chosen.filter((one) => (lastChangeOf(one) ?? '') > (from ?? ''));
  const request: Request = {
    jobs: recent.map(({ name }) => name),
    where: [
      ...conditionsIn(search).filter(([name]) => name !== 'job'),
      ...(from === null ? [] : [condition('at', 'gt', from)]),
      condition('at', 'lte', new Date(until).toISOString()),
      condition('kind', 'neq', 'first'),
    ],
  };
  const query = useFetched(JSON.stringify(request), (signal) => readChanges(request, schema, signal));
  const isBehind = end > shownAt && chosen.some((one) => Date.parse(lastChangeOf(one) ?? '') > shownAt);
  const { walks = [], older = null } = query.value ?? {};
  return (
    <>
      <Filters>
        <DatasetChoice />
        <Choice label="Change" groups={kindChoices} />
        {dataset && (
          <Choice
            label="Field that changed"
            groups={{
              Fields: Object.fromEntries(
                fieldsOf(schema, dataset).map((name) => [`column=eq.${name}`, name]),
              ),
            }}
          />
        )}
        <TimeFilters />
        <WalkFilter />
      </Filters>
      <div class="tools">
        <span class="note" role="status">
          {query.value &&
            `${countsOf(walks.flatMap(({ rows }) => rows))}${older === null ? '' : ', and older ones'}`}
        </span>
        {isBehind && (
          <button
            type="button"
            class="main"
            onClick={() => {
              setTurn(turn + 1);
              go(linkHere({}), 'replace');
            }}
          >
            Show newer changes
          </button>
        )}
      </div>
      <Awaited query={query} />
      {query.value && walks.length === 0 && (
        <Empty>
          Nothing changed in this time{dataset && ` in ${dataset.name}`}.
          {search.has('walk_id') && ' What a first full read brings is no change.'}
        </Empty>
      )}
      <div class="stack" aria-busy={query.isOld}>
        {walks.map((walk) => (
          <WalkChanges key={`${walk.dataset.name} ${walk.id} ${walk.at}`} walk={walk} />
        ))}
      </div>
      {older !== null && (
        <a class="button" href={linkHere({ since: null, from, to: older })}>
          Older ›
        </a>
      )}
    </>
  );
}

function countsOf(rows: readonly ChangedRow[]): string {
  const of = (kind: Kind) => rows.filter((row) => row.kind === kind).length;
  const counted = (Object.keys(kinds) as Kind[]).filter((kind) => of(kind) > 0);
  return counted.map((kind) => `${number(of(kind))} ${kinds[kind].label}`).join(', ');
}

const fieldsOf = ({ tables }: Schema, { table }: Dataset): string[] =>
  (tables.find(({ name }) => name === table)?.columns ?? []).flatMap(({ name }) =>
    isBookkeeping(name) ? [] : [name],
  );

/** What was asked for. @property where of the view of changes of each dataset. */
type Request = { jobs: readonly string[]; where: readonly Term[] };

type Field = { column: string; old: PageCell; new: PageCell };
type ChangedRow = {
  kind: Kind;
  key: string;
  /** Of a changed row. */
  fields: Field[];
  /** What a new row holds, and a row that is gone held. */
  leading: readonly PageCell[];
};
type WalkOfChanges = {
  id: PageCell;
  at: string;
  dataset: Dataset;
  rows: ChangedRow[];
  isCut: boolean;
  booleans: ReadonlySet<string>;
};

/** Of one dataset; a walk may have changed more. */
const MOST_LINES = 500;
const columns = ['at', 'kind', '_key', 'column', 'old', 'new', 'walk_id'];

type Read = { walks: readonly WalkOfChanges[]; older: string | null };

async function readChanges(request: Request, schema: Schema, signal: AbortSignal): Promise<Outcome<Read>> {
  const datasets = schema.jobs.filter(({ name }) => request.jobs.includes(name));
  const read = await Promise.all(datasets.map((one) => readDataset(one, schema, request.where, signal)));
  const failed = read.find(({ problem }) => problem);
  if (failed?.problem) return { problem: failed.problem };
  const found = read.flatMap(({ value }) => value ?? []);
  // Behind the end of a list that was cut, others would stand alone.
  const [older = null] = found
    .flatMap(({ end }) => end ?? [])
    .sort()
    .reverse();
  const walks = found
    .flatMap((one) => one.walks)
    .filter(({ at }) => older === null || at >= older)
    .sort((one, other) => (one.at < other.at ? 1 : one.at > other.at ? -1 : 0));
  return { value: { walks, older } };
}

async function readDataset(
  dataset: Dataset,
  schema: Schema,
  where: readonly Term[],
  signal: AbortSignal,
): Promise<Outcome<{ walks: WalkOfChanges[]; end: string | null }>> {
  const { table, history } = dataset;
  const declared = schema.tables.find(({ name }) => name === table)?.columns ?? [];
  const json = new Set(declared.flatMap(({ name, kind }) => (kind === 'json' ? [name] : [])));
  const booleans = new Set(declared.flatMap(({ name, kind }) => (kind === 'boolean' ? [name] : [])));
  const order = ['seq', '_key', 'column'].map((column, at) => ({ column, descending: at === 0 }));
  const answer = await answerTo(
    {
      ask: askOf({ table: `${table}_changes`, select: columns, where, order, limit: MOST_LINES }),
      limit: MOST_LINES,
    },
    signal,
  );
  if (answer.problem) return answer;
  const walks = new Map<string, WalkOfChanges>();
  for (const [at, kind, key, column = null, old = null, now = null, id = null] of answer.value.rows) {
    const name = String(id ?? at);
    const walk = walks.get(name) ?? { id, at: String(at), dataset, rows: [], isCut: false, booleans };
    walks.set(name, walk);
    let row = walk.rows.at(-1);
    if (!row || row.key !== key || row.kind !== kind) {
      row = { kind: kind as Kind, key: String(key), fields: [], leading: [] };
      walk.rows.push(row);
    }
    if (column !== null) row.fields.push({ column: String(column), old, new: now });
  }
  const isCut = answer.value.rows.length === MOST_LINES;
  const last = isCut ? [...walks.values()].at(-1) : undefined;
  if (last) last.isCut = true;
  const rows = [...walks.values()].flatMap((walk) => walk.rows);
  // An object has a column for each of its members, too.
  for (const row of rows)
    row.fields = row.fields.filter(
      ({ column }) => !json.has(column) || !row.fields.some((other) => other.column.startsWith(`${column}_`)),
    );
  const leading = leadingColumns(declared, dataset.shown);
  const told = rows.filter(({ kind }) => kind !== 'changed');
  const values = async (from: string, wanted: readonly ChangedRow[]) => {
    const keys = [...new Set(wanted.map(({ key }) => JSON.stringify(key)))];
    if (keys.length === 0 || leading.length === 0) return;
    const { value } = await answerTo(
      {
        ask: askOf({
          table: from,
          select: ['_key', ...leading],
          where: [['_key', `in.(${keys.join(',')})`]],
        }),
        limit: 10_000,
      },
      signal,
    );
    const byKey = new Map(value?.rows.map(([key, ...rest]) => [key, rest]));
    for (const row of wanted) row.leading = byKey.get(row.key) ?? row.leading;
  };
  await values(
    table,
    told.filter(({ kind }) => kind === 'new'),
  );
  if (history !== null)
    await values(
      history,
      told.filter((row) => row.kind === 'gone' || row.leading.length === 0),
    );
  return { value: { walks: [...walks.values()], end: last?.at ?? null } };
}

const FIRST_ROWS = 20;

/** What one walk changed, under one head. */
function WalkChanges({ walk: { id, at, dataset, rows, isCut, booleans } }: { walk: WalkOfChanges }) {
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? rows : rows.slice(0, FIRST_ROWS);
  return (
    <section class="card walk-changes" aria-label={`${dataset.name} ${at}`}>
      <h2 class="tools">
        <Time at={at} /> · <JobLink job={dataset.name} /> ·{' '}
        <span>
          {countsOf(rows)}
          {isCut && ' or more'}
        </span>
        <span class="note">
          walk <WalkLink id={id} />
        </span>
      </h2>
      <ul>
        {shown.map((row) => (
          <li key={`${row.kind} ${row.key}`}>
            <span class={`tag ${kinds[row.kind].tag}`}>{kinds[row.kind].label}</span>
            <a href={linkTo(pathOf({ view: 'row', job: dataset.name, key: row.key }))} title={row.key}>
              <code class="unbroken">{cutMiddle(row.key, 24)}</code>
            </a>
            {row.kind === 'changed' ? (
              <Fields fields={row.fields} booleans={booleans} />
            ) : (
              <span class="leading">
                {row.leading
                  .filter((value) => value !== null)
                  .map((value) => shownValue(value))
                  .join(' · ')}
              </span>
            )}
          </li>
        ))}
      </ul>
      <p class="tools">
        {rows.length > FIRST_ROWS && (
          <button type="button" onClick={() => setWhole(!isWhole)}>
            {isWhole ? 'Fewer' : `${count(rows.length - FIRST_ROWS, 'row')} more`}
          </button>
        )}
        {isCut && id !== null && (
          <a
            href={linkWhere([condition('walk_id', 'eq', String(id))], { since: null, from: null, to: null })}
          >
            All of walk {String(id)}
          </a>
        )}
      </p>
    </section>
  );
}

/** Further fields of a row are only counted. */
const MOST_FIELDS = 6;
const MOST_LETTERS = 48;

function Fields({ fields, booleans }: { fields: readonly Field[]; booleans: ReadonlySet<string> }) {
  if (fields.length === 0) return <span class="note">only its text was written otherwise</span>;
  return (
    <span class="fields">
      {fields.slice(0, MOST_FIELDS).map(({ column, old, new: now }) => (
        <span key={column}>
          <b>{column}</b> <Value value={old} isBoolean={booleans.has(column)} /> →{' '}
          <ins>
            <Value value={now} isBoolean={booleans.has(column)} />
          </ins>
        </span>
      ))}
      {fields.length > MOST_FIELDS && (
        <span class="note">and {count(fields.length - MOST_FIELDS, 'field')} more</span>
      )}
    </span>
  );
}

function Value({ value, isBoolean }: { value: PageCell; isBoolean: boolean }) {
  if (value === null) return <span class="null">–</span>;
  const text = isBoolean && (value === 0 || value === 1) ? String(value === 1) : shownValue(value, 1_000);
  return <span title={text.length > MOST_LETTERS ? text : undefined}>{cutMiddle(text, MOST_LETTERS)}</span>;
}

function shownValue(value: PageCell, most = MOST_LETTERS): string {
  if (typeof value === 'number') return number(value);
  if (typeof value === 'object' && value !== null)
    return 'integer' in value ? value.integer : `${value.bytes} bytes`;
  return cutMiddle(String(value).replace(/\s+/g, ' '), most);
}
