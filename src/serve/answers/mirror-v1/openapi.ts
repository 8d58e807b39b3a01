/** What `/openapi.json` says of `/mirror/v1`: what each of its routes answers. */

import type { Schema } from '../../../job/list.ts';
import type { Route } from '../../http/handler.ts';
import { querySchemas } from '../shapes.ts';

type Dataset = { readonly table: string; readonly about: string; readonly scope: string | null };

const text = { type: 'string' };
const whole = { type: 'integer', minimum: 0 };

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
  readonly types?: readonly string[];
  readonly schema: Schema;
  readonly parameters?: readonly object[];
  /** Beside those of every answer and `Content-Range`. */
  readonly headers?: readonly string[];
  /** Of those, the ones that a 304 lacks: only the answer shows them. */
  readonly unknownBefore?: readonly string[];
  /** Whether rows may be left out, which are counted. */
  readonly isPartial?: boolean;
};

/** @param routes those of `/mirror/v1`; a path with `:dataset` is one of each dataset, and of each view over one. */
export function queryPaths(
  routes: readonly Pick<Route, 'name' | 'path'>[],
  datasets: readonly Dataset[],
): Record<string, object> {
  const paths = routes.flatMap(({ name, path }): [string, object][] => {
    const describe = operations[name];
    if (!describe) return [];
    const form = path.replace(/:(key)\b/g, '{$1}');
    if (!form.includes(':dataset')) return [[form, pathItem(describe(anyDataset), null)]];
    const ofDatasets = datasets.map((dataset): [string, object] => [
      form.replace(':dataset', dataset.table),
      pathItem(describe(dataset), dataset.scope),
    ]);
    return name === 'mirror-rows'
      ? [...ofDatasets, [form.replace(':dataset', '{view}'), viewItem]]
      : ofDatasets;
  });
  return Object.fromEntries(paths);
}

const anyDataset: Dataset = { table: '', about: '', scope: null };

const inPath = (name: string, description: string) => ({
  ...{ name, in: 'path', required: true, description },
  schema: text,
});
const key = inPath('key', 'The `_key` of a row.');

const ofRows = {
  types: ['application/json', 'text/csv', 'application/x-ndjson', ONE_OBJECT],
  headers: [...freshness, 'ETag'],
};
const filtersOfNow = filters.filter((each) => !(moments as readonly object[]).includes(each));
const pascal = (table: string) => table.replace(/(?:^|_)(.)/g, (_, letter: string) => letter.toUpperCase());

/** By the name of its route. */
const operations: Readonly<Record<string, (dataset: Dataset) => Operation>> = {
  'mirror-rows': ({ table, about }) => ({
    ...ofRows,
    id: `query${pascal(table)}`,
    summary: about,
    isPartial: true,
    schema: querySchemas.rows,
    parameters: filters,
  }),
  'mirror-row': ({ table }) => ({
    ...ofRows,
    id: `read${pascal(table)}Row`,
    summary: 'One row.',
    schema: querySchemas.row,
    parameters: [key, select, ...moments],
  }),
  'mirror-history': ({ table }) => ({
    ...ofRows,
    id: `read${pascal(table)}History`,
    summary: 'The versions of a row, the present one last.',
    isPartial: true,
    schema: querySchemas.rows,
    parameters: [key, ...filters],
  }),
  'mirror-changes': () => ({
    id: 'readChanges',
    summary: 'What changed since, in all datasets that the key may read: first those as inserts.',
    schema: querySchemas.feed,
    parameters: [
      query('since', '`next` of the answer before, or the number of a change.'),
      query('limit', 'Changes at most; 100 unless given, 1,000 at most.', { type: 'integer', minimum: 1 }),
    ],
    headers: [...freshness, 'ETag'],
    unknownBefore: ['X-Mirror-Seq'],
  }),
  'mirror-freshness': () => ({
    id: 'readFreshness',
    summary: 'How fresh and how complete each dataset is that the key may read.',
    schema: querySchemas.rows,
    parameters: filtersOfNow,
  }),
  'mirror-datasets': () => ({
    id: 'listDatasets',
    summary: 'The datasets that the key may read, with their columns, views and freshness.',
    schema: querySchemas.datasets,
  }),
};

const viewItem = pathItem(
  {
    ...ofRows,
    id: 'queryView',
    summary:
      'The rows of a view over a dataset, as it stands now; `views` of `/mirror/v1/datasets` names them.',
    isPartial: true,
    schema: querySchemas.rows,
    parameters: [inPath('view', 'Such as `news_current` or `news_changes`.'), ...filtersOfNow],
  },
  null,
);

/** @param scope null where any active key will do, or it depends on the name in the path. */
function pathItem(
  {
    id,
    summary,
    types = ['application/json'],
    schema,
    parameters = [],
    headers: own = [],
    ...rest
  }: Operation,
  scope: string | null,
): object {
  const schemas: Readonly<Record<string, Schema>> = {
    'application/json': schema,
    [ONE_OBJECT]: querySchemas.row,
  };
  const content = Object.fromEntries(types.map((type) => [type, { schema: schemas[type] ?? text }]));
  const headers = [...commonHeaders, ...own];
  const ranged = headersNamed([...headers, 'Content-Range']);
  const hasEtag = headers.includes('ETag');
  const notModified = {
    description: 'The answer is what `If-None-Match` names. Costs no quota.',
    headers: headersNamed(headers.filter((header) => !rest.unknownBefore?.includes(header))),
  };
  return {
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
  };
}
