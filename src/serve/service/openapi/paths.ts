/** The operations: the endpoints of the API, and what the service tells of itself. */

import type { ListedJob, Schema } from '../../../job-list.ts';
import {
  type HeaderName,
  headersNamed,
  momentHeaders,
  parameters,
  responsesOf,
  successHeaders,
} from './components.ts';
import { bodyExamples } from './examples.ts';
import { schemaNamed } from './schemas.ts';

const refusals = {
  401: 'Unauthorized',
  403: 'Forbidden',
  405: 'MethodNotAllowed',
  429: 'TooManyRequests',
  503: 'Unavailable',
  default: 'Error',
} as const;

const openRefusals = { 405: 'MethodNotAllowed', default: 'Error' } as const;

const listParameters = Object.keys(parameters).map((name) => ({ $ref: `#/components/parameters/${name}` }));

/** @param page the schema of its body. */
export function listPath(job: ListedJob, page: Schema) {
  return getOf(job, 'list', {
    parameters: [...filterParameters(job), ...listParameters],
    responses: {
      200: success('A page.', [...successHeaders, ...momentHeaders], page, job.path),
      ...responsesOf({ 304: 'NotModified', 400: 'BadRequest', 410: 'Gone', ...refusals }),
    },
  });
}

export function usagePath(job: ListedJob) {
  return getOf(job, 'read', {
    summary: 'The use of this service by the account of the key.',
    description: 'The specification does not show the shape of the answer: it is ours.',
    responses: {
      200: success('The use of the account.', [...successHeaders], schemaNamed('Usage'), job.path),
      ...responsesOf(refusals),
    },
  });
}

const anyObject = { type: 'object', additionalProperties: true };
const told = ['X-Request-ID', 'Cache-Control'] as const;

/** What the service tells of itself, without a key. */
export const operatorPaths = {
  '/healthz': openGet('checkHealth', 'Whether the process lives.', {
    200: success('It does.', [...told], anyObject, '/healthz'),
  }),
  '/readyz': openGet(
    'checkReadiness',
    'Whether keys can be read, and every scheduled dataset is proven and no older than it may be.',
    {
      200: success('They are.', [...told], schemaNamed('Readiness'), '/readyz'),
      503: success(
        'Some are not; `datasets` names them.',
        [...told, 'Retry-After'],
        schemaNamed('Readiness'),
      ),
    },
  ),
  '/metrics': {
    get: {
      ...openGet('readMetrics', 'Measurements for Prometheus.', {
        200: {
          description: 'In its text format.',
          headers: headersNamed(...told),
          content: { 'text/plain': { schema: { type: 'string' } } },
        },
        ...responsesOf({ 401: 'Unauthorized', 403: 'Forbidden', 429: 'TooManyRequests' }),
      }).get,
      description: 'Needs a key elsewhere than on the machine of the service.',
      security: [{}, { apiKey: ['metrics:read'] }],
    },
  },
  '/openapi.json': openGet('describeService', 'This description.', {
    200: success('In OpenAPI 3.1.', [...told, 'ETag'], anyObject),
  }),
};

function getOf({ name, about, operation, scope }: ListedJob, verb: string, rest: object) {
  const operationId =
    operation ?? `${verb}${name.replace(/(?:^|-)(.)/g, (_, letter: string) => letter.toUpperCase())}`;
  return {
    get: { operationId, summary: about, security: [{ apiKey: scope === null ? [] : [scope] }], ...rest },
  };
}

function openGet(operationId: string, summary: string, responses: object) {
  return {
    get: { operationId, summary, security: [], responses: { ...responses, ...responsesOf(openRefusals) } },
  };
}

/** @param path the one of whose answers an example is known. */
function success(description: string, headers: HeaderName[], schema: Schema, path = '') {
  const example = (bodyExamples as Readonly<Record<string, unknown>>)[path];
  const content = { 'application/json': { schema, ...(example !== undefined && { example }) } };
  return { description, headers: headersNamed(...headers), content };
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
