/** Who may see the page: everybody on this machine, or who came by a link or a key, with a cookie that says so since. */

import type { Clock } from '../../clock.ts';
import type { PageAnswer, PageAsked, PageEndpoint } from '../http/app.ts';
import { countFailures } from '../service/admission/failures.ts';
import { type Admission, isRefused } from '../service/admission.ts';
import type { Answer } from '../service/answers.ts';
import { PAGE_SCOPE } from '../service/keys.ts';
import { failedAnswer } from './failed.ts';
import type { Issued, Tokens, Viewer } from './sessions.ts';
import { sayOldLink, sayRefused, sayWhoMaySee, sendOn } from './words.ts';

export type Door = {
  /** The document for those who may see it; for others, how they may. */
  enter(asked: PageAsked, document: (asked: PageAsked) => Promise<PageAnswer>): Promise<PageAnswer>;
  /** The answer of the private interface for those who may see it, and to no other page than ours. */
  guard(answer: AnswerTo): PageEndpoint['answer'];
  /** Who it is; undefined for who may not see the page. */
  viewerOf(asked: PageAsked): Viewer | undefined;
  /** By a key. */
  login(asked: PageAsked): Promise<PageAnswer>;
  /** Ends the session of who asks; the other sessions go on. */
  logout(asked: PageAsked): PageAnswer | Promise<PageAnswer>;
};

export type AnswerTo = (asked: PageAsked, viewer: Viewer) => PageAnswer | Promise<PageAnswer>;

export type DoorParts = {
  access: 'token' | 'open';
  tokens: Tokens;
  admission: Pick<Admission, 'identify'>;
  clock: Pick<Clock, 'now' | 'monotonic'>;
};

/** With access `open`, everybody on this machine is one viewer. */
const everybodyHere: Viewer = { owner: 'this machine', caller: null };

/** Of the form with a key. */
const MOST_FORM_BYTES = 4_096;

export function openDoor({ access, tokens, admission, clock }: DoorParts): Door {
  const failures = countFailures();

  /** @returns seconds to wait, where there were too many of that address. */
  function countFailure({ address }: PageAsked): number | null {
    const waitMs = failures.count(address, clock.monotonic());
    return waitMs > 0 ? Math.ceil(waitMs / 1_000) : null;
  }

  function viewerOf(asked: PageAsked): Viewer | undefined {
    if (access === 'open' && asked.isLocal) return everybodyHere;
    const token = cookieOf(asked);
    return token === undefined ? undefined : tokens.viewerOf(token, asked, clock.now());
  }

  function openLink(token: string, asked: PageAsked): Answer {
    const session = asked.isLocal ? tokens.openByLink(token, clock.now()) : undefined;
    if (session) return sendOn('/', { 'Set-Cookie': cookieFor(session, asked, clock.now()) });
    const wait = countFailure(asked);
    return wait === null ? sayOldLink(asked.isLocal) : sayRefused(429, wait, asked.isLocal);
  }

  const guard: Door['guard'] = (answer) => (asked) => {
    if (!isFromOurs(asked)) return refused(403, 'only the page itself may ask this');
    const viewer = viewerOf(asked);
    if (viewer) return answer(asked, viewer);
    const wait = cookieOf(asked) === undefined ? null : countFailure(asked);
    return wait === null
      ? refused(401, 'the page opens by a link or a key: reload it to see how')
      : refused(429, 'too many calls without a session', wait);
  };

  return {
    guard,
    viewerOf,
    async enter(asked, document) {
      const token = asked.query.get('token');
      if (token !== null) return viewerOf(asked) ? sendOn('/') : openLink(token, asked);
      if (viewerOf(asked)) return await document(asked);
      const comesFrom = asked.headers['sec-fetch-site'];
      if (comesFrom === 'cross-site' || comesFrom === 'same-site') return sendOn(null);
      return sayWhoMaySee(asked.isLocal);
    },
    logout: guard((asked) => {
      const token = cookieOf(asked);
      if (token !== undefined) tokens.endSession(token);
      const headers = { 'Set-Cookie': setCookie(asked, '', 0), 'Cache-Control': 'no-store' };
      return { status: 204, headers, body: null };
    }),
    async login(asked) {
      if (!isFromOurs(asked)) return refused(403, 'only the page itself may ask this');
      const key = new URLSearchParams((await asked.body(MOST_FORM_BYTES)) ?? '').get('key')?.trim() ?? '';
      const caller = admission.identify({
        authorization: `Bearer ${key}`,
        address: asked.address,
        scope: PAGE_SCOPE,
      });
      if (isRefused(caller)) return sayRefused(caller.status, caller.retryAfter, asked.isLocal);
      const cookie = cookieFor(tokens.openByKey(caller.id, clock.now()), asked, clock.now());
      return {
        status: 303,
        headers: { Location: '/', 'Set-Cookie': cookie, 'Cache-Control': 'no-store' },
        body: null,
      };
    },
  };
}

const refused = (status: number, message: string, retryAfter: number | null = null) =>
  failedAnswer(status, 'key', message, retryAfter);

/** Browsers tell from which page a call comes. What tells nothing is no browser, and can send no cookie of one. */
function isFromOurs({ headers, method }: PageAsked): boolean {
  const site = headers['sec-fetch-site'];
  // Typed into the address bar, or taken from the list of downloads.
  const isTyped = site === 'none' && method === 'GET';
  if (site !== undefined && site !== 'same-origin' && !isTyped) return false;
  const { origin, host } = headers;
  return origin === undefined || (URL.canParse(origin) && new URL(origin).host === host?.toLowerCase());
}

/** Browsers send the cookies of a name to all its ports: two mirrors on one machine must not put each other out. */
function cookieName({ headers, isSecure }: PageAsked): string {
  const [, port = ''] = /:(\d+)$/.exec(headers.host ?? '') ?? [];
  return `${isSecure ? '__Host-' : ''}market_mirror_page${port && `_${port}`}`;
}

function cookieOf(asked: PageAsked): string | undefined {
  const name = cookieName(asked);
  const pairs = (asked.headers.cookie ?? '').split(';').map((pair) => pair.trim().split('='));
  return pairs.find(([given]) => given === name)?.[1];
}

function cookieFor({ token, expiresAt }: Issued, asked: PageAsked, now: number): string {
  return setCookie(asked, token, Math.floor((expiresAt - now) / 1_000));
}

/** @param seconds how long the browser keeps it; 0 takes it away. */
function setCookie(asked: PageAsked, value: string, seconds: number): string {
  const secure = asked.isSecure ? '; Secure' : '';
  return `${cookieName(asked)}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`;
}
