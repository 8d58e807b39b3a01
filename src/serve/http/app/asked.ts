/** A request as those who answer it see it. */

import type { IncomingHttpHeaders } from 'node:http';
import type { HttpBindings } from '@hono/node-server';
import type { Context } from 'hono';
import { accepts } from 'hono/accepts';
import type { Caller } from '../../service/admission.ts';
import { type Asked, type Encoding, encodings } from '../../service/answers.ts';
import type { Call } from './call.ts';
import { type Origin, pathOf, serviceAddress } from './client.ts';
import { bodyOf, onFinished } from './stream.ts';

export type InHono = Context<{ Bindings: HttpBindings }>;

/** What the page is asked. */
export type PageAsked = Asked &
  Origin & {
    readonly method: string;
    readonly headers: IncomingHttpHeaders;
    /** Whether the client sent it over TLS. */
    readonly isSecure: boolean;
    /** What stands in the path for `:name`. */
    param(name: string): string;
    /** As text; undefined for one of more bytes than `most`. */
    body(most: number): Promise<string | undefined>;
    /** Says whose call it is, for counts and logs, and which limit has refused it. */
    belongsTo(caller: Pick<Caller, 'id' | 'account'>, limit?: string | null): void;
  };

export function askedOf(c: InHono): Asked {
  const { incoming } = c.env;
  const { url = '', headers } = incoming;
  return {
    query: new URLSearchParams(url.slice(pathOf(incoming).length)),
    ifNoneMatch: headers['if-none-match'],
    encoding: encodingOf(c, headers['accept-encoding']),
    get gone() {
      return goneSignal(c.env);
    },
  };
}

export function pageAskedOf(c: InHono, call: Call): PageAsked {
  const { address, isLocal } = call;
  const { incoming } = c.env;
  const { query, ifNoneMatch, encoding } = askedOf(c);
  return {
    query,
    ifNoneMatch,
    encoding,
    gone: goneSignal(c.env),
    method: incoming.method ?? '',
    headers: incoming.headers,
    address,
    isLocal,
    isSecure: serviceAddress(incoming, address).startsWith('https:'),
    param: (name) => c.req.param(name) ?? '',
    body: (most) => bodyOf(incoming, most),
    belongsTo({ id, account }, limit = null) {
      Object.assign(call, { keyId: id, account, limit });
    },
  };
}

/** Made only for those who wait for something: a signal takes as long as a kept page. */
function goneSignal({ incoming, outgoing }: HttpBindings): AbortSignal {
  const gone = new AbortController();
  onFinished(incoming, outgoing, () => gone.abort());
  return gone.signal;
}

function encodingOf(c: InHono, accepted: string | undefined): Encoding {
  if (accepted === undefined || accepted === '' || accepted === 'identity') return 'identity';
  const supports = [...encodings];
  return accepts(c, { header: 'Accept-Encoding', supports, default: 'identity' }) as Encoding;
}
