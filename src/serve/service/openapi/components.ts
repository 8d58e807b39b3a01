/** Parameters, headers and answers that several operations share. */

import { errorExamples } from './examples.ts';
import { schemaNamed, verdicts } from './schemas.ts';

type Named<Part> = Readonly<Record<string, Part>>;

const whole = { type: 'integer', minimum: 0 };

export const parameters = {
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
    schema: whole,
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
const number = (description: string) => ({ description, schema: whole });

export const responseHeaders = {
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
    schema: { type: 'string', format: 'date-time' },
  },
  'X-Mirror-Held': number(
    'Rows of the dataset that the last proof did not show, and that stay for now. They stand last.',
  ),
  Age: number('Seconds since then.'),
  ETag: text('Names what is shown, for `If-None-Match`: the same for every key.'),
  'Cache-Control': text('Lists are `private, no-cache`; errors are `no-store`.'),
  'Retry-After': number('Seconds after which it is worth trying again.'),
  'WWW-Authenticate': text('Always `Bearer`.'),
  Allow: text('The methods that are allowed: `GET, HEAD`.'),
} as const;

export type HeaderName = keyof typeof responseHeaders;

export const headersNamed = (...names: HeaderName[]) =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]));

const ofEvery = ['X-Request-ID', 'Cache-Control'] as const;

export const successHeaders = [...ofEvery, 'X-RateLimit-Limit', 'X-RateLimit-Remaining'] as const;

export const momentHeaders = [
  'X-Mirror-Seq',
  'X-Mirror-Verdict',
  'X-Mirror-Complete-As-Of',
  'X-Mirror-Held',
  'Age',
  'ETag',
] as const;

function errorResponse(description: string, codes: readonly string[], ...headers: HeaderName[]) {
  const known: Named<unknown> = errorExamples;
  const examples = codes.flatMap((code) => (known[code] ? [[code, { value: known[code] }] as const] : []));
  return {
    description,
    headers: headersNamed(...ofEvery, ...headers),
    content: {
      'application/json': {
        schema: schemaNamed('Error'),
        ...(examples.length > 0 && { examples: Object.fromEntries(examples) }),
      },
    },
  };
}

export const responses = {
  NotModified: {
    description: 'The page is what `If-None-Match` names. Costs no quota.',
    headers: headersNamed(...successHeaders, ...momentHeaders),
  },
  BadRequest: errorResponse('`seq` is no moment of this dataset, or the request cannot be read.', [
    'invalid_seq',
  ]),
  Unauthorized: errorResponse(
    'The key is absent, malformed, invalid, expired or inactive.',
    ['invalid_api_key'],
    'WWW-Authenticate',
  ),
  Forbidden: errorResponse('The key lacks the scope, or may not be used from this address.', ['forbidden']),
  MethodNotAllowed: errorResponse('Another method than GET or HEAD.', ['method_not_allowed'], 'Allow'),
  Gone: errorResponse('`seq` is a moment that is no longer kept. Ask again without it.', ['seq_gone']),
  TooManyRequests: errorResponse(
    'The quota, the request rate or the concurrency limit of the account has been reached.',
    ['too_many_requests'],
    'Retry-After',
  ),
  Unavailable: errorResponse(
    'The dataset has not been read yet, is older than this service may show, or cannot be read just now.',
    ['service_unavailable'],
    'Retry-After',
  ),
  Error: errorResponse('Any other error.', []),
} as const;

/** References to them, by status. */
export function responsesOf(answers: Named<keyof typeof responses>) {
  return Object.fromEntries(
    Object.entries(answers).map(([status, name]) => [status, { $ref: `#/components/responses/${name}` }]),
  );
}
