/** What `/openapi.json` says of `/mirror/v1`. */

import type { Schema } from '../../../job-list.ts';

type Dataset = { readonly table: string; readonly about: string; readonly scope: string | null };

const text = { type: 'string' };
const whole = { type: 'integer', minimum: 0 };
const nullable = { type: ['string', 'null'] };
const anyRow = { type: 'object', additionalProperties: true };
const listOf = (items: Schema): Schema => ({ type: 'array', items });
const objectOf = (properties: Readonly<Record<string, Schema>>): Schema => ({
  type: 'object',
  properties,
  required: Object.keys(properties),
});

export const queryError = objectOf({ code: text, message: text, details: nullable, hint: nullable });

const change = objectOf({
  seq: whole,
  at: { type: 'string', format: 'date-time' },
  dataset: text,
  key: text,
  change: { type: 'string', enum: ['insert', 'update', 'delete'] },
  row: { ...anyRow, type: ['object', 'null'] },
});

const described = objectOf({
  ...{ dataset: text, job: text, about: text },
  columns: listOf(objectOf({ name: text, type: text, about: text })),
  views: listOf(text),
  verdict: nullable,
  complete_as_of: nullable,
  age_seconds: { type: ['integer', 'null'] },
  held: whole,
  seq: whole,
  history_from: nullable,
});

const parameterNamed = (name: string) => ({ $ref: `#/components/parameters/${name}` });
const headersNamed = (names: readonly string[]) =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

const commonHeaders = ['X-Request-ID', 'Cache-Control', 'X-RateLimit-Limit', 'X-RateLimit-Remaining'];
const freshness = ['X-Mirror-Seq', 'X-Mirror-Verdict', 'X-Mirror-Complete-As-Of', 'X-Mirror-Held', 'Age'];

const query = (name: string, description: string, schema: Schema = text) => ({
  name,
  in: 'query',
  description,
  schema,
});

const moments = [
  query('seq', 'The `X-Mirror-Seq` of an earlier answer: the rows as they were then.', whole),
  query(
    'as_of',
    'The rows as they were at this time, in UTC unless it says otherwise, or so long ago (`2h`).',
  ),
];
const select = query(
  'select',
  'Columns, `alias:column`, and members of JSON, `column->a->>b`; all unless given.',
);
const filters = [
  select,
  {
    name: 'filters',
    in: 'query',
    style: 'form',
    explode: true,
    description:
      '`column=eq.value`, with `eq`, `neq`, `gt`, `gte`, `lt`, `lte`, `like`, `ilike`, `in.(…)`, `cs.{…}`, `is.null`, `is.true` and `is.false`; `not.` before any.',
    schema: { type: 'object', additionalProperties: text },
  },
  query(
    'or',
    '`(column.eq.a,column.gt.5)`: one of them holds. Also `and`, `not.or`, `not.and`, nested to a depth of three.',
  ),
  query('order', '`a.desc.nullslast,b`; ties by `_key`.'),
  query('limit', 'Rows at most; 1,000 unless given.', whole),
  query('offset', 'Rows that are left out before.', whole),
  ...moments,
  {
    name: 'Prefer',
    in: 'header',
    description: '`count=exact` tells in `Content-Range` how many rows there are.',
    schema: text,
  },
];

const ONE_OBJECT = 'application/vnd.pgrst.object+json';

type Operation = {
  readonly id: string;
  readonly summary: string;
  readonly scope: string | null;
  readonly types?: readonly string[];
  readonly schema: Schema;
  readonly parameters?: readonly object[];
  /** Beside those of every answer and `Content-Range`. */
  readonly headers: readonly string[];
  /** Of those, the ones that a 304 lacks: only the answer shows them. */
  readonly unknownBefore?: readonly string[];
  /** Whether rows may be left out, which are counted. */
  readonly isPartial?: boolean;
};

export function queryPaths(datasets: readonly Dataset[]) {
  const operation = (
    path: string,
    { id, summary, scope, types = ['application/json'], schema, parameters = [], ...rest }: Operation,
  ) => {
    const schemas: Readonly<Record<string, Schema>> = { 'application/json': schema, [ONE_OBJECT]: anyRow };
    const content = Object.fromEntries(types.map((type) => [type, { schema: schemas[type] ?? text }]));
    const headers = [...commonHeaders, ...rest.headers];
    const ranged = headersNamed([...headers, 'Content-Range']);
    const hasEtag = headers.includes('ETag');
    const notModified = {
      description: 'The answer is what `If-None-Match` names. Costs no quota.',
      headers: headersNamed(headers.filter((header) => !rest.unknownBefore?.includes(header))),
    };
    return {
      [path]: {
        get: {
          operationId: id,
          summary,
          security: [{ apiKey: scope === null ? [] : [scope] }],
          parameters: hasEtag ? [...parameters, parameterNamed('ifNoneMatch')] : parameters,
          responses: {
            200: { description: summary, headers: ranged, content },
            ...(rest.isPartial && { 206: { description: 'Some of the rows.', headers: ranged, content } }),
            ...(hasEtag && { 304: notModified }),
            default: {
              description: 'An error, with a code of PostgREST, of Postgres, or of the mirror.',
              content: { 'application/json': { schema: { $ref: '#/components/schemas/QueryError' } } },
            },
          },
        },
      },
    };
  };
  const paths = datasets.flatMap(({ table, about, scope }) => {
    const path = `/mirror/v1/${table}`;
    const name = table.replace(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase());
    const key = {
      name: 'key',
      in: 'path',
      required: true,
      description: 'The `_key` of a row.',
      schema: text,
    };
    const common = {
      scope,
      types: ['application/json', 'text/csv', 'application/x-ndjson', ONE_OBJECT],
      headers: [...freshness, 'ETag'],
    };
    return [
      operation(path, {
        ...common,
        id: `query${name}`,
        summary: about,
        isPartial: true,
        schema: listOf(anyRow),
        parameters: filters,
      }),
      operation(`${path}/{key}`, {
        ...common,
        id: `read${name}Row`,
        summary: 'One row.',
        schema: anyRow,
        parameters: [key, select, ...moments],
      }),
      operation(`${path}/{key}/history`, {
        ...common,
        id: `read${name}History`,
        summary: 'The versions of a row, the present one last.',
        isPartial: true,
        schema: listOf(anyRow),
        parameters: [key, ...filters],
      }),
    ];
  });
  const feed = objectOf({ changes: listOf(change), next: text, hasMore: { type: 'boolean' } });
  return Object.assign(
    {},
    ...paths,
    operation('/mirror/v1/changes', {
      id: 'readChanges',
      summary: 'What changed since, in all datasets that the key may read: first those as inserts.',
      scope: null,
      schema: feed,
      parameters: [
        query('since', '`next` of the answer before, or the number of a change.'),
        query('limit', 'Changes at most; 100 unless given, 1,000 at most.', { type: 'integer', minimum: 1 }),
      ],
      headers: [...freshness, 'ETag'],
      unknownBefore: ['X-Mirror-Seq'],
    }),
    operation('/mirror/v1/freshness', {
      id: 'readFreshness',
      summary: 'How fresh and how complete each dataset is that the key may read.',
      scope: null,
      schema: listOf(anyRow),
      parameters: filters.filter((each) => !moments.includes(each as (typeof moments)[number])),
      headers: [],
    }),
    operation('/mirror/v1/datasets', {
      id: 'listDatasets',
      summary: 'The datasets that the key may read, with their columns and freshness.',
      scope: null,
      schema: listOf(described),
      headers: [],
    }),
  ) as Record<string, object>;
}
