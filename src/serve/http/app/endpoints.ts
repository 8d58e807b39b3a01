/** What the service can be asked: each endpoint with its name and path, who may ask, and what answers. */

import type { Answer, Asked, Planned } from '../../service/answers.ts';
import type { PageAsked } from './asked.ts';
import type { Stream } from './stream.ts';

/** Who calls, once the key is known. */
export type Guest = { readonly account: string };

export type Endpoint = {
  /** In counts and logs: never the path, which anybody may make up. */
  readonly name: string;
  readonly path: string;
  /** The scope that the key needs; null where any active key will do. */
  readonly scope: string | null;
  plan(asked: Asked, guest: Guest): Planned;
};

/** An endpoint that tells of the service itself and counts against no limit. */
export type OpenEndpoint = {
  readonly name: string;
  readonly path: string;
  /** The scope that the key needs where the client is not on this machine; null where no key is asked for. */
  readonly scope: string | null;
  /** `address`: the one by which the service was asked, without a slash at its end. */
  answer(asked: Asked & { readonly address: string }): Answer | Promise<Answer>;
};

/** An endpoint of the page, which decides by itself who may see it, and takes as long as it takes. */
export type PageEndpoint = {
  readonly name: string;
  /** `:name` stands for a part of it. */
  readonly path: string;
  readonly methods: readonly string[];
  answer(asked: PageAsked): PageAnswer | Promise<PageAnswer>;
};

export type PageAnswer = Answer | (Omit<Answer, 'body'> & { readonly body: Stream });
