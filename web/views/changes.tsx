/** What changed: every row that came, changed or went, the latest first, with the fields that became others. */

import { useMemo, useState } from 'preact/hooks';
import type { PageCell, Schema } from '../../src/serve/page/wire.ts';
import { useAnswer, useCurrentAnswer, useSchema } from '../ask.ts';
import { serviceNow } from '../clock.ts';
import { clockTime, count, cutMiddle, DAY_MS, HOUR_MS, number, plural, sharedZone } from '../formats.ts';
import { useLive } from '../live.ts';
import { Heading, Tabs } from '../parts/heading.tsx';
import { Awaited, Empty, Failed, Loading, Scroll } from '../parts/states.tsx';
import { Heads } from '../parts/table.tsx';
import { Time } from '../parts/time.tsx';
import { usePreferences } from '../preferences.ts';
import { go, linkHere, linkTo, linkToSql, usePageAddress } from '../router.ts';
import type { ViewOf } from '../routes.ts';
import { pathOf } from '../routes.ts';
import {
  Choice,
  Code,
  DatasetChoice,
  Filters,
  filteredBy,
  JobLink,
  numberIn,
  TimeFilters,
  WalkLink,
} from './browsing.tsx';
import {
  type ChangeKind,
  type ChangesRequest,
  changesSql,
  countsSql,
  differencesOf,
  fieldsOf,
  newerSql,
  versionsSql,
} from './changes/changes-sql.ts';
import type { Change, Leaf } from './row/life.ts';

const spans = {
  '1h': { label: '1 hour', ms: HOUR_MS },
  '24h': { label: '24 hours', ms: DAY_MS },
  '7d': { label: '7 days', ms: 7 * DAY_MS },
};
type Span = keyof typeof spans;

const PAGE_ROWS = 200;

/** Later than any change, and written with four digits for the year. */
const FOREVER = Date.UTC(9999, 0);

const kinds: Readonly<Record<ChangeKind, { label: string; tag: string }>> = {
  insert: { label: 'new', tag: 'good' },
  update: { label: 'changed', tag: 'accent' },
  delete: { label: 'gone', tag: 'bad' },
};

const kindChoices = { Change: { insert: 'new', update: 'changed', delete: 'gone' } };

export const ChangesView: ViewOf<'changes'> = () => {
  const schema = useSchema();
  const { overview } = useLive();
  return (
    <>
      <Heading title="Changes">
        <Spans />
      </Heading>
      {schema.problem && <Failed problem={schema.problem} again={schema.again} />}
      {schema.value && overview ? <Changes schema={schema.value} /> : !schema.problem && <Loading />}
    </>
  );
};

const isSpan = (text: string | null): text is Span => text !== null && Object.hasOwn(spans, text);

/** Unless the address says otherwise, a day; of a walk, whenever that was. */
function spanOf(search: URLSearchParams): Span | null {
  const since = search.get('since');
  if (isSpan(since)) return since;
  return search.has('walk') || search.has('from') || search.has('to') ? null : '24h';
}

function Spans() {
  const { search } = usePageAddress();
  const chosen = spanOf(search);
  return (
    <Tabs
      label="Time shown"
      tabs={Object.entries(spans).map(([span, { label }]) => ({
        text: label,
        link: linkHere({ since: span, from: null, to: null, page: null }),
        isHere: span === chosen,
      }))}
    />
  );
}

function Changes({ schema }: { schema: Schema }) {
  const { search, at } = usePageAddress();
  const { overview } = useLive();
  // Later changes move no row under the pointer or to another page: a button shows them, and so does another choice.
  const [turn, setTurn] = useState(0);
  const choice = filteredBy({});
  const shownAt = useMemo(serviceNow, [choice, turn]);
  const endMs = Date.parse(search.get('to') ?? at ?? '');
  const end = Number.isNaN(endMs) ? FOREVER : endMs;
  const until = Math.min(shownAt, end);
  const span = spanOf(search);
  const job = search.get('job');
  const dataset = schema.jobs.find(({ name }) => name === job);
  const field = search.get('field');
  const kind = search.get('kind');
  const request: ChangesRequest = {
    job: dataset?.name ?? null,
    kind: kind !== null && Object.hasOwn(kinds, kind) ? (kind as ChangeKind) : null,
    field: dataset && fieldsOf(schema, dataset).includes(field ?? '') ? field : null,
    walk: numberIn(search, 'walk'),
    from: span === null ? search.get('from') : new Date(until - spans[span].ms).toISOString(),
    until: new Date(until).toISOString(),
  };
  // Only datasets that changed since then are asked. If none did, the first one is: an answer must say that there is nothing.
  const since = request.from;
  const recent = schema.jobs.filter(({ name }) => {
    const lastChange = overview?.status.datasets.find((one) => one.job === name)?.lastChange ?? null;
    return lastChange !== null && (since === null || lastChange > since);
  });
  const datasets = recent.length === 0 ? schema.jobs.slice(0, 1) : recent;
  const page = numberIn(search, 'page') ?? 1;
  const sql = changesSql(request, datasets);
  const limit = PAGE_ROWS + 1;
  const query = useAnswer({
    sql: `${sql.sql}\nLIMIT ${limit} OFFSET ${(page - 1) * PAGE_ROWS}`,
    params: sql.params as Record<string, string>,
    limit,
  });
  const counts = useAnswer(countsSql(request, datasets));
  const newer = useCurrentAnswer(
    end <= shownAt ? null : newerSql(request, schema.jobs, new Date(end).toISOString()),
  );
  const fresh = Number(newer.value?.rows[0]?.[0] ?? 0);
  const showNewer = () => {
    setTurn(turn + 1);
    go(choice, 'replace');
  };
  const rows = (query.value?.rows ?? []).slice(0, PAGE_ROWS);
  const hasMore = (query.value?.rows.length ?? 0) > PAGE_ROWS;
  return (
    <>
      <Filters names={['job', 'kind', 'field', 'walk', 'from', 'to', 'since']}>
        <DatasetChoice />
        <Choice name="kind" label="Change" groups={kindChoices} />
        {dataset?.history && (
          <Choice
            name="field"
            label="Field that changed"
            groups={{ Fields: Object.fromEntries(fieldsOf(schema, dataset).map((one) => [one, one])) }}
          />
        )}
        <TimeFilters />
        {request.walk !== null && (
          <a class="button" href={filteredBy({ walk: null })}>
            of walk {request.walk} ×
          </a>
        )}
      </Filters>
      <div class="tools">
        <span class="note" role="status">
          {counts.value && countsText(counts.value.rows)}
        </span>
        {fresh > 0 && (
          <button type="button" class="main" onClick={showNewer}>
            {number(fresh)} new {plural(fresh, 'change')}
          </button>
        )}
      </div>
      <Awaited query={query} />
      {query.value && rows.length === 0 && (
        <Empty>Nothing changed in this time{dataset && ` in ${dataset.name}`}.</Empty>
      )}
      {rows.length > 0 && <ChangeTable rows={rows} schema={schema} isLoading={query.isOld} />}
      <div class="tools">
        {page > 1 && (
          <a class="button" href={linkHere({ page: page === 2 ? null : page - 1 })}>
            ‹ Newer
          </a>
        )}
        {hasMore && (
          <a class="button" href={linkHere({ page: page + 1 })}>
            Older ›
          </a>
        )}
        <span class="spread" />
        <a href={linkToSql(sql)}>Open as SQL</a>
      </div>
    </>
  );
}

function countsText(rows: readonly (readonly PageCell[])[]): string {
  const of = (kind: ChangeKind) => Number(rows.find(([change]) => change === kind)?.[1] ?? 0);
  return `${number(of('insert'))} new, ${number(of('update'))} changed, ${number(of('delete'))} gone`;
}

type TableProps = { rows: readonly (readonly PageCell[])[]; schema: Schema; isLoading: boolean };

function ChangeTable({ rows, schema, isLoading }: TableProps) {
  const { zone } = usePreferences();
  const headZone = sharedZone(
    rows.map(([, at]) => at),
    zone,
  );
  const time = (
    <>
      Time <span class="zone">{headZone}</span>
    </>
  );
  const changed = rows.flatMap(([, at, job, key, change]) =>
    change === 'update' ? [{ at: String(at), job: String(job), key: String(key) }] : [],
  );
  const versions = useAnswer(versionsSql(changed, schema));
  const differences = useMemo(
    () => differencesOf(versions.value?.rows ?? [], schema),
    [versions.value, schema],
  );
  return (
    <div class="card list">
      <Scroll label="Changes, the latest first" isBusy={isLoading}>
        <table class="changes-list">
          <Heads names={[time, 'Dataset', 'Change', 'Row', 'Fields', 'Walk']} />
          <tbody>
            {rows.map(([, at, job, key, change, walk]) => {
              const { label, tag } = kinds[change as ChangeKind];
              const dataset = schema.jobs.find(({ name }) => name === job);
              return (
                <tr key={`${at} ${job} ${key} ${change}`}>
                  <td class="time">
                    <Time
                      at={String(at)}
                      {...(headZone !== null && { text: clockTime(Date.parse(String(at)), zone) })}
                    />
                  </td>
                  <td>
                    <JobLink job={job ?? null} />
                  </td>
                  <td>
                    <span class={`tag ${tag}`}>{label}</span>
                  </td>
                  <td>
                    <a
                      href={linkTo(pathOf({ view: 'row', job: String(job), key: String(key) }))}
                      title={String(key)}
                    >
                      <Code text={cutMiddle(String(key), 28)} />
                    </a>
                  </td>
                  <td class="fields">
                    <Fields
                      {...(differences.get(`${job} ${at} ${key}`) ?? { changes: [], isCut: false })}
                      volatile={dataset?.volatile ?? []}
                    />
                  </td>
                  <td>
                    <WalkLink id={walk ?? null} />
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </Scroll>
      {versions.problem && <Failed problem={versions.problem} again={versions.again} />}
    </div>
  );
}

/** Further fields of a row are only counted. */
const MOST_FIELDS = 6;

type FieldsProps = { changes: readonly Change[]; isCut: boolean; volatile: readonly string[] };

/** Values that change all the time come last, and in grey. */
function Fields({ changes, isCut, volatile }: FieldsProps) {
  const isVolatile = ({ place }: Change) => volatile.includes(place);
  const ordered = [...changes.filter((one) => !isVolatile(one)), ...changes.filter(isVolatile)];
  const shown = ordered.slice(0, MOST_FIELDS);
  return (
    <ul>
      {shown.map((change) => (
        <li key={change.place} class={isVolatile(change) ? 'note' : ''}>
          <b>{change.place}</b> <Value leaf={change.before} /> →{' '}
          <ins>
            <Value leaf={change.after} />
          </ins>
        </li>
      ))}
      {ordered.length > shown.length && (
        <li class="note">and {count(ordered.length - shown.length, 'field')} more</li>
      )}
      {isCut && <li class="note">long values are cut{changes.length === 0 && ', and differ behind that'}</li>}
    </ul>
  );
}

const MOST_LETTERS = 48;

function Value({ leaf }: { leaf: Leaf | null }) {
  if (leaf === null) return <span class="null">–</span>;
  return (
    <span title={leaf.text.length > MOST_LETTERS ? leaf.text : undefined}>
      {cutMiddle(leaf.text, MOST_LETTERS)}
    </span>
  );
}
