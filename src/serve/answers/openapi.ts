/** The description of the service in OpenAPI 3.1, which `/openapi.json` shows: made of the route table, of the shapes that the jobs declare, and of ours. */

import type { ListedJob, Schema } from '../../job/list.ts';
import type { Call, Route } from '../http/handler.ts';
import { digestEtag, type HttpResponse, matchesEtag } from '../http/response.ts';
import { queryPaths } from './mirror-v1/openapi.ts';
import { namedSchemas, querySchemas } from './shapes.ts';

const information = {
  title: 'Read-only Market Data API, served from a mirror',
  // That of the interface, which the specification gives ("Versioning").
  version: '1.0.0',
  description: [
    'The datasets of the market data API as market-mirror keeps them.',
    "Paths, parameters, bodies and statuses are those of the API itself; headers whose names begin with `X-Mirror-`, the parameter `seq` and the answers 400 and 410 are the mirror's own.",
    'Every answer with an error has an Error body, that for an unknown path (404) too; below `/mirror/v1` it is a QueryError. HEAD answers as GET does, without the body, and costs the same.',
    'The responses are private to the account that the mirror reads with.',
  ].join('\n\n'),
};

/**
 * @param jobs the endpoints, in the order in which they are shown.
 * @param queryRoutes those of `/mirror/v1`, where it is answered.
 */
export function describeService(
  jobs: readonly ListedJob[],
  queryRoutes: readonly Route[],
): (call: Pick<Call, 'headers'>) => HttpResponse {
  const body = JSON.stringify(documentOf(jobs, queryRoutes));
  const etag = digestEtag(body);
  const headers = { ETag: etag, 'Cache-Control': 'private, no-cache' };
  return ({ headers: { 'if-none-match': ifNoneMatch } }) =>
    matchesEtag(ifNoneMatch, etag)
      ? { status: 304, headers, body: null }
      : { status: 200, headers: { 'Content-Type': 'application/json', ...headers }, body };
}

function documentOf(jobs: readonly ListedJob[], queryRoutes: readonly Route[]) {
  const schemas = openSchemas();
  const paths = jobs.map((job) => [
    job.path,
    job.reading === 'list' ? listPath(job, schemas.pageOf(job)) : usagePath(job),
  ]);
  return {
    openapi: '3.1.0',
    info: information,
    // By whatever name the document was asked for.
    servers: [{ url: '/' }],
    paths: {
      ...Object.fromEntries(paths),
      ...queryPaths(
        queryRoutes,
        jobs.filter(({ history }) => history !== null),
      ),
      ...operatorPaths(),
    },
    components: {
      schemas: { ...schemas.all(), ...(queryRoutes.length > 0 && { QueryError: querySchemas.error }) },
      parameters,
      headers: responseHeaders,
      responses,
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          description:
            'A key that `market-mirror keys create` has printed. Each operation names the scope that it needs.',
        },
      },
    },
  };
}

const schemaNamed = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });
const verdicts = ['snapshot', 'verified', 'union'];
const count = { type: 'integer', minimum: 0 };
const time = { type: 'string', format: 'date-time' };

const refusals = {
  401: 'Unauthorized',
  403: 'Forbidden',
  405: 'MethodNotAllowed',
  429: 'TooManyRequests',
  503: 'Unavailable',
  default: 'Error',
} as const;

const openRefusals = { 405: 'MethodNotAllowed', default: 'Error' } as const;

/** @param page the schema of its body. */
function listPath(job: ListedJob, page: Schema) {
  return getOf(job, 'list', {
    parameters: [...filterParameters(job), ...Object.keys(parameters).map(parameterNamed)],
    responses: {
      200: success('A page.', [...successHeaders, ...momentHeaders], page),
      ...responsesOf({ 304: 'NotModified', 400: 'BadRequest', 410: 'Gone', ...refusals }),
    },
  });
}

function usagePath(job: ListedJob) {
  return getOf(job, 'read', {
    summary: 'The use of this service by the account of the key.',
    description: 'The specification does not show the shape of the answer: it is ours.',
    responses: {
      200: success('The use of the account.', [...successHeaders], schemaNamed('Usage')),
      ...responsesOf(refusals),
    },
  });
}

const parameterNamed = (name: string) => ({ $ref: `#/components/parameters/${name}` });

const anyObject = { type: 'object', additionalProperties: true };

/** What the service tells of itself, without a key. */
const operatorPaths = () => ({
  '/healthz': openGet('checkHealth', 'Whether the process lives.', {
    200: success('It does.', [...commonHeaders], anyObject),
  }),
  '/readyz': openGet(
    'checkReadiness',
    'Whether keys can be read, and every scheduled dataset is proven and no older than it may be.',
    {
      200: success('They are.', [...commonHeaders], schemaNamed('Readiness')),
      503: success(
        'Some are not; `datasets` names them.',
        [...commonHeaders, 'Retry-After'],
        schemaNamed('Readiness'),
      ),
    },
  ),
  '/metrics': {
    get: {
      ...openGet('readMetrics', 'Measurements for Prometheus.', {
        200: {
          description: 'In its text format.',
          headers: headersNamed(...commonHeaders),
          content: { 'text/plain': { schema: { type: 'string' } } },
        },
        ...responsesOf({ 401: 'Unauthorized', 403: 'Forbidden', 429: 'TooManyRequests' }),
      }).get,
      description: 'Needs a key elsewhere than on the machine of the service.',
      security: [{}, { apiKey: ['metrics:read'] }],
    },
  },
  '/openapi.json': openGet('describeService', 'This description.', {
    200: success('In OpenAPI 3.1.', [...commonHeaders, 'ETag'], anyObject),
  }),
});

function getOf({ name, about, operation, scope }: ListedJob, verb: string, rest: object) {
  const operationId = operation ?? `${verb}${pascalCase(name)}`;
  return {
    get: { operationId, summary: about, security: [{ apiKey: scope === null ? [] : [scope] }], ...rest },
  };
}

function openGet(operationId: string, summary: string, responses: object) {
  return {
    get: { operationId, summary, security: [], responses: { ...responses, ...responsesOf(openRefusals) } },
  };
}

function success(description: string, headers: HeaderName[], schema: Schema) {
  return { description, headers: headersNamed(...headers), content: { 'application/json': { schema } } };
}

function filterParameters({ filters }: ListedJob) {
  return Object.entries(filters).map(([name, filter]) => ({
    name,
    in: 'query',
    description: ruleOf(name, filter),
    schema: { type: 'string', ...(filter.by === 'field' && filter.values && { enum: filter.values }) },
  }));
}

/** In short; `docs/serve.md` has the rules in full. */
function ruleOf(name: string, filter: ListedJob['filters'][string]): string {
  if (filter.by === 'text')
    return 'Words: a row is shown where each of them is somewhere in its text, case and accents aside.';
  const rule = `A row is shown where its field \`${name}\` is this value, or has it among others, case and accents aside.`;
  return filter.all === undefined ? rule : `${rule} \`${filter.all}\` shows every row.`;
}

const parameters = {
  offset: {
    name: 'offset',
    in: 'query',
    description: 'Zero-based row offset. A negative value is taken for 0.',
    schema: { type: 'integer', minimum: 0, default: 0 },
  },
  limit: {
    name: 'limit',
    in: 'query',
    description: 'Rows per page. A value out of range is brought into it.',
    schema: { type: 'integer', minimum: 1, maximum: 100, default: 50 },
  },
  seq: {
    name: 'seq',
    in: 'query',
    description:
      'The `X-Mirror-Seq` of an earlier answer: the page shows the rows as they were at that moment, in one stable order. Without it pages follow the present.',
    schema: count,
  },
  ifNoneMatch: {
    name: 'If-None-Match',
    in: 'header',
    description:
      'The `ETag` of an earlier answer: where it still holds, the answer is 304 and costs no quota.',
    schema: { type: 'string' },
  },
} as const;

const text = (description: string) => ({ description, schema: { type: 'string' } });
const number = (description: string) => ({ description, schema: count });

const responseHeaders = {
  'X-Request-ID': {
    description: 'Opaque, for troubleshooting.',
    schema: { type: 'string', format: 'uuid' },
  },
  'X-RateLimit-Limit': number('The calls in the quota of the account; 1000000000 where it has none.'),
  'X-RateLimit-Remaining': number('Calls left in it after this answer.'),
  'X-Mirror-Seq': number(
    'The moment that the answer shows, counted for each dataset. Send it back as `seq`.',
  ),
  'X-Mirror-Verdict': {
    description:
      'What proves the rows: one published snapshot, pages that fit together, or (`union`) nothing yet.',
    schema: { type: 'string', enum: verdicts },
  },
  'X-Mirror-Complete-As-Of': {
    description: 'When the proof of completeness began. Absent while the dataset has none.',
    schema: time,
  },
  'X-Mirror-Held': number(
    'Rows of the dataset that the last proof did not show, and that stay for now. They stand last.',
  ),
  Age: number('Seconds since then.'),
  'Content-Range': text('Which rows of how many: `0-24/573`; `*` for what was not counted, or is empty.'),
  ETag: text('Names what is shown, for `If-None-Match`: the same for every key.'),
  'Cache-Control': text('Lists are `private, no-cache`; errors are `no-store`.'),
  'Retry-After': number('Seconds after which it is worth trying again.'),
  'WWW-Authenticate': text('Always `Bearer`.'),
  Allow: text('The methods that are allowed: `GET, HEAD`.'),
} as const;

type HeaderName = keyof typeof responseHeaders;

const headersNamed = (...names: HeaderName[]) =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

const commonHeaders = ['X-Request-ID', 'Cache-Control'] as const;

const successHeaders = [...commonHeaders, 'X-RateLimit-Limit', 'X-RateLimit-Remaining'] as const;

const momentHeaders = [
  'X-Mirror-Seq',
  'X-Mirror-Verdict',
  'X-Mirror-Complete-As-Of',
  'X-Mirror-Held',
  'Age',
  'ETag',
] as const;

function errorResponse(description: string, ...headers: HeaderName[]) {
  return {
    description,
    headers: headersNamed(...commonHeaders, ...headers),
    content: { 'application/json': { schema: schemaNamed('Error') } },
  };
}

const responses = {
  NotModified: {
    description: 'The page is what `If-None-Match` names. Costs no quota.',
    headers: headersNamed(...successHeaders, ...momentHeaders),
  },
  BadRequest: errorResponse(
    '`seq` is no moment of this dataset, there is no such parameter, or the request cannot be read.',
  ),
  Unauthorized: errorResponse(
    'The key is absent, malformed, invalid, expired or inactive.',
    'WWW-Authenticate',
  ),
  Forbidden: errorResponse('The key lacks the scope, or may not be used from this address.'),
  MethodNotAllowed: errorResponse('Another method than GET or HEAD.', 'Allow'),
  Gone: errorResponse('`seq` is a moment that is no longer kept. Ask again without it.'),
  TooManyRequests: errorResponse(
    'The quota, the request rate or the concurrency limit of the account has been reached; `message` says which.',
    'Retry-After',
    'X-RateLimit-Limit',
    'X-RateLimit-Remaining',
  ),
  Unavailable: errorResponse(
    'The dataset has not been read yet, is older than this service may show, or cannot be read just now.',
    'Retry-After',
  ),
  Error: errorResponse('Any other error.'),
} as const;

/** References to them, by status. */
function responsesOf(named: Readonly<Record<string, keyof typeof responses>>) {
  return Object.fromEntries(
    Object.entries(named).map(([status, name]) => [status, { $ref: `#/components/responses/${name}` }]),
  );
}

/** Where upstream tells when it published the list, the page tells it, too. */
const unspecifiedPage: Schema = { properties: { generatedAt: { type: ['string', 'null'] } }, required: [] };

/** Collects the schemas of pages and what they refer to. */
export function openSchemas() {
  const components = new Map<string, Schema>(Object.entries(namedSchemas));

  /** The schema with every named object in it replaced by a reference. */
  function named(schema: Schema): Schema {
    const { title, ...rest } = mapSchema(schema, named);
    if (title === undefined) return rest;
    const known = components.get(title);
    if (known && JSON.stringify(known) !== JSON.stringify(rest))
      throw new Error(`two objects that differ are named ${title}`);
    components.set(title, rest);
    return schemaNamed(title);
  }

  return {
    pageOf({ name, schemas: own }: ListedJob): Schema {
      const { title = `${pascalCase(name)}Page`, properties, required } = own?.page ?? unspecifiedPage;
      const page = objectOf({
        ...properties,
        rows: { type: 'array', items: own?.row ?? schemaNamed('UnspecifiedRow') },
        pagination: schemaNamed('StandardPagination'),
      });
      return named({ title, ...page, required: [...(required ?? []), 'rows', 'pagination'] });
    },
    all: (): Record<string, Schema> =>
      Object.fromEntries([...components].sort(([a], [b]) => (a < b ? -1 : 1))),
  };
}

/** All of its properties and no others. */
function objectOf(properties: Readonly<Record<string, Schema>>): Schema {
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false };
}

function mapSchema(schema: Schema, change: (inner: Schema) => Schema): Schema {
  const { properties, items, anyOf } = schema;
  return {
    ...schema,
    ...(properties && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, inner]) => [name, change(inner)]),
      ),
    }),
    ...(items && { items: change(items) }),
    ...(anyOf && { anyOf: anyOf.map(change) }),
  };
}

function pascalCase(name: string): string {
  return name.replace(/(?:^|-)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
