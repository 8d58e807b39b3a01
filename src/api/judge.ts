/** What each answer of the API means, one line of the catalogue each (specification, Errors). */

import { Failure } from '../errors.ts';
import { type Body, readBody } from './body.ts';
import type { Exchange } from './exchange.ts';
import { type HeaderFacts, readHeaders } from './headers.ts';

/** `again` says how a failed call may be repeated: never, after a pause of ours, or when the governor allows. */
export type Judgement =
  | { fine: true; text: string; json: unknown; facts: HeaderFacts }
  | {
      fine: false;
      failure: Failure;
      again: 'never' | 'once' | 'after-pause' | 'when-allowed';
      code: string | null;
      facts: HeaderFacts;
    };

const noFacts = readHeaders({}, 0);

/** @param what the endpoint, for messages. */
export function judge(answer: Exchange, what: string, limit: number, now: number): Judgement {
  if (answer.came === 'nothing') return judgeSilence(answer.error, what);
  const facts = readHeaders(answer.headers, now);
  if (answer.status === 200)
    return judgeBody(readBody(answer.body, facts.contentType, facts.contentEncoding, limit), what, facts);
  const code = readErrorCode(answer.body);
  const because = code ? ` (${code})` : '';
  const fail = (
    kind: ConstructorParameters<typeof Failure>[0],
    message: string,
    again: 'never' | 'when-allowed' = 'never',
  ): Judgement => ({
    fine: false,
    failure: new Failure(kind, `${what}: ${message}${because}`),
    again,
    code,
    facts,
  });

  switch (answer.status) {
    case 401:
      return fail('key', 'the API refused the key: it is malformed, expired or inactive; set a valid one');
    case 403:
      return fail('key', 'the key lacks the scope for this endpoint, or may not be used from this address');
    case 429:
      return fail('incomplete', 'the API limits the calls of this account; try again later', 'when-allowed');
    case 503:
      return fail('incomplete', 'the API is temporarily unavailable; try again later', 'when-allowed');
  }
  if (answer.status > 200 && answer.status < 300)
    return fail('contract', `answered ${answer.status}, which the specification does not know`);
  if (answer.status >= 300 && answer.status < 400)
    return fail(
      'unreachable',
      `answered with a redirect (${answer.status}), which is never followed; check MARKET_API_URL`,
    );
  if (answer.status < 500) return fail('unreachable', `answered ${answer.status}; check MARKET_API_URL`);
  return fail('unreachable', `answered ${answer.status}; the next run tries again`);
}

function judgeBody(body: Body, what: string, facts: HeaderFacts): Judgement {
  if ('text' in body) return { fine: true, ...body, facts };
  return {
    fine: false,
    failure: new Failure('contract', `${what}: ${body.problem}`),
    again: 'once',
    code: 'bad_body',
    facts,
  };
}

const certificate = /CERT|SELF_SIGNED|UNABLE_TO_(VERIFY|GET_ISSUER)|ERR_TLS|ERR_SSL/;

function judgeSilence(error: Error & { code?: string }, what: string): Judgement {
  const code = error.code ?? error.name;
  const fail = (
    again: 'never' | 'after-pause',
    kind: 'unreachable' | 'contract',
    message: string,
  ): Judgement => ({
    fine: false,
    failure: new Failure(kind, `${what}: ${message}`),
    again,
    code,
    facts: noFacts,
  });
  if (certificate.test(code))
    return fail(
      'never',
      'unreachable',
      `the API's certificate is not trusted (${code}); it is never bypassed`,
    );
  if (code === 'UND_ERR_RES_EXCEEDED_MAX_SIZE')
    return fail('never', 'contract', 'an answer larger than any page may be');
  if (code === 'UND_ERR_HEADERS_OVERFLOW')
    return fail('never', 'unreachable', 'an answer with oversized headers');
  return fail(
    'after-pause',
    'unreachable',
    `the API cannot be reached or does not answer (${code}); check the network and MARKET_API_URL`,
  );
}

/** The machine-readable code of an Error body, where there is one that looks like a code. */
function readErrorCode(body: Buffer): string | null {
  try {
    const { error } = JSON.parse(body.toString('utf8')) as { error?: unknown };
    return typeof error === 'string' && /^[\w.:-]{1,64}$/.test(error) ? error : null;
  } catch {
    return null;
  }
}
