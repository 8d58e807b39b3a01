/** Who may see the page: everybody on this machine, or a browser with a session, opened by a link or a key. Others get a page that says how. */

import { hash } from 'node:crypto';
import type { Clock } from '../../base/clock.ts';
import { type Admission, countFailures, isRefused } from '../access/admission.ts';
import { PAGE_SCOPE } from '../access/keys.ts';
import type { IssuedToken, Sessions, Viewer } from '../access/sessions.ts';
import type { Call, Route } from '../http/handler.ts';
import { readBody, serviceAddress } from '../http/request.ts';
import { type HttpResponse, retryAfter, type StreamedResponse } from '../http/response.ts';
import { failedResponse } from './requests.ts';
import type { PageAccess } from './wire.ts';

export type ViewerResponder = (call: Call, viewer: Viewer) => StreamedResponse | Promise<StreamedResponse>;

type PageAuthParts = {
  access: Exclude<PageAccess, 'off'>;
  sessions: Sessions;
  admission: Pick<Admission, 'identify'>;
  clock: Pick<Clock, 'now' | 'monotonic'>;
};

/** With access `open`, everybody on this machine is one viewer. */
const everybodyHere: Viewer = { owner: 'this machine', caller: null };

const MAX_FORM_BYTES = 4_096;

export function openPageAuth({ access, sessions, admission, clock }: PageAuthParts) {
  const countFailure = countFailures();

  /** @returns seconds to wait, where that address had too many failures. */
  function waitAfterFailure({ address }: Call): number | null {
    const waitMs = countFailure(address, clock.monotonic());
    return waitMs > 0 ? Math.ceil(waitMs / 1_000) : null;
  }

  /** Undefined for a caller who may not see the page. */
  function viewerOf(call: Call): Viewer | undefined {
    if (access === 'open' && call.isLocal) return everybodyHere;
    const token = cookieIn(call);
    return token === undefined ? undefined : sessions.viewerOf(token, call, clock.now());
  }

  function openLink(token: string, call: Call): HttpResponse {
    const session = call.isLocal ? sessions.openByLink(token, clock.now()) : undefined;
    if (session) return redirectPage('/', { 'Set-Cookie': cookieOf(session, call, clock.now()) });
    const wait = waitAfterFailure(call);
    return wait === null ? oldLinkPage(call.isLocal) : refusedPage(429, wait, call.isLocal);
  }

  /** The private interface for those who may see it, and for no other page than ours. */
  const guard =
    (respond: ViewerResponder): Route['respond'] =>
    (call) => {
      if (!isFromOurPage(call)) return refused(403, 'only the page itself may ask this');
      const viewer = viewerOf(call);
      if (viewer) return respond(call, viewer);
      const wait = cookieIn(call) === undefined ? null : waitAfterFailure(call);
      return wait === null
        ? refused(401, 'sign in with a link or a key: reload the page to see how')
        : refused(429, 'too many calls without a session', wait);
    };

  return {
    guard,
    viewerOf,
    /** The document for those who may see it; for others, how they may. */
    async open(call: Call, document: (call: Call) => Promise<HttpResponse>): Promise<HttpResponse> {
      const token = call.query.get('token');
      if (token !== null) return viewerOf(call) ? redirectPage('/') : openLink(token, call);
      if (viewerOf(call)) return await document(call);
      const site = call.headers['sec-fetch-site'];
      if (site === 'cross-site' || site === 'same-site') return redirectPage(null);
      return signInPage(call.isLocal);
    },
    /** By a key. */
    async signIn(call: Call): Promise<HttpResponse> {
      if (!isFromOurPage(call)) return refused(403, 'only the page itself may ask this');
      const form = new URLSearchParams((await readBody(call, MAX_FORM_BYTES)) ?? '');
      const authorization = `Bearer ${form.get('key')?.trim() ?? ''}`;
      const caller = admission.identify({ authorization, address: call.address, scope: PAGE_SCOPE });
      if (isRefused(caller)) return refusedPage(caller.status, caller.retryAfter, call.isLocal);
      const cookie = cookieOf(sessions.openByKey(caller.id, clock.now()), call, clock.now());
      const headers = { Location: '/', 'Set-Cookie': cookie, 'Cache-Control': 'no-store' };
      return { status: 303, headers, body: null };
    },
    /** Ends this session; others of the same viewer go on. */
    signOut: guard((call) => {
      const token = cookieIn(call);
      if (token !== undefined) sessions.end(token);
      const headers = { 'Set-Cookie': setCookie(call, '', 0), 'Cache-Control': 'no-store' };
      return { status: 204, headers, body: null };
    }),
  };
}

const refused = (status: number, message: string, waitSeconds: number | null = null) =>
  failedResponse(status, 'key', message, waitSeconds);

/** Browsers say from which page a call comes. A client that does not is no browser, and has no cookie. */
function isFromOurPage({ headers, method }: Call): boolean {
  const site = headers['sec-fetch-site'];
  // Typed into the address bar, or taken from the list of downloads.
  const isTyped = site === 'none' && method === 'GET';
  if (site !== undefined && site !== 'same-origin' && !isTyped) return false;
  const { origin, host } = headers;
  return origin === undefined || (URL.canParse(origin) && new URL(origin).host === host?.toLowerCase());
}

const isSecure = ({ incoming, address }: Call) => serviceAddress(incoming, address).startsWith('https:');

/** Browsers send a cookie to all ports of a host: the port in its name keeps two mirrors on one machine apart. */
function cookieName(call: Call): string {
  const [, port = ''] = /:(\d+)$/.exec(call.headers.host ?? '') ?? [];
  return `${isSecure(call) ? '__Host-' : ''}market_mirror_page${port && `_${port}`}`;
}

function cookieIn(call: Call): string | undefined {
  const name = cookieName(call);
  const pairs = (call.headers.cookie ?? '').split(';').map((pair) => pair.trim().split('='));
  return pairs.find(([key]) => key === name)?.[1];
}

function cookieOf({ token, expiresAt }: IssuedToken, call: Call, now: number): string {
  return setCookie(call, token, Math.floor((expiresAt - now) / 1_000));
}

/** @param seconds how long the browser keeps it; 0 takes it away. */
function setCookie(call: Call, value: string, seconds: number): string {
  const secure = isSecure(call) ? '; Secure' : '';
  return `${cookieName(call)}=${value}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`;
}

// The pages for those who may not see ours yet, in a browser with or without script.

/** The colours of web/style.css. */
const style = `
:root {
  color-scheme: light dark;
  --paper: light-dark(#f6f7f9, #11151b); --card: light-dark(#fff, #191e26); --sunk: light-dark(#eef0f4, #12161c);
  --ink: light-dark(#1a2029, #e4e8ee); --soft: light-dark(#58616f, #9aa5b4);
  --line: light-dark(#b9c1cd, #485262); --accent: light-dark(#1f5fbf, #7fb0ff);
}
* { box-sizing: border-box }
body { font: 14px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; color: var(--ink); background: var(--paper); margin: 0 }
main { width: min(440px, 100% - 24px); margin: 12vh auto; padding: 28px; background: var(--card); border: 1px solid var(--line); border-radius: 8px }
.brand { display: flex; align-items: center; gap: 10px; margin: 0 0 20px; font-weight: 700; font-size: 1.1rem }
.brand svg { width: 28px; height: 28px }
h1 { font-size: 1.25rem; margin: 0 0 12px }
p { margin: 0 0 12px; color: var(--soft) }
a { color: var(--accent) }
code { font: .92em ui-monospace, Menlo, Consolas, monospace; padding: 1px 4px; color: var(--ink); background: var(--sunk); border-radius: 4px; overflow-wrap: anywhere }
label { font-weight: 600 }
input, button { font: inherit; width: 100%; min-height: 40px; padding: 6px 10px; border: 1px solid var(--line); border-radius: 6px }
input { display: block; margin: 4px 0 12px; color: inherit; background: var(--card) }
button { color: var(--card); background: var(--accent); border-color: var(--accent); font-weight: 600; cursor: pointer }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px }
`;

const brand = `<p class="brand"><svg viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="7" fill="#1f5fbf"/><path d="M6 20l5-7 4 4 4-6" fill="none" stroke="#fff" stroke-width="2.6"/><path d="M13 26l4-6 4 4 5-7" fill="none" stroke="#9cc4ff" stroke-width="2.6"/></svg> market-mirror</p>`;

const signInHeaders = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  // Without a referrer a browser would hide where the form comes from, even from us.
  'Referrer-Policy': 'same-origin',
  'Content-Security-Policy': `default-src 'none'; style-src 'sha256-${hash('sha256', style, 'base64')}'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`,
};

/** @param body markup of ours alone: nothing that was sent, or stored, becomes a part of it. */
function htmlPage(
  status: number,
  title: string,
  body: string,
  more: HttpResponse['headers'] = {},
  head = '',
): HttpResponse {
  return {
    status,
    headers: {
      ...signInHeaders,
      ...more,
      'Content-Type': 'text/html; charset=utf-8',
      'Cache-Control': 'no-store',
    },
    body: `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>market-mirror: ${title}</title>${head}<style>${style}</style></head>
<body><main>${brand}<h1>${title}</h1>
${body}
</main></body>
</html>
`,
  };
}

const keyForm = `<form method="post" action="/page/login">
<label>Key<input name="key" type="password" autocomplete="off" required></label>
<button>Open</button>
</form>`;

const howByLink =
  '<p>On the machine that runs market-mirror, <code>market-mirror keys page</code> prints a link to this page: open that.</p>';

const howByKey =
  '<p>Or give a key that opens it: <code>market-mirror keys create --name me --scope page:read</code> makes one.</p>';

const howByKeyAlone =
  '<p>From here it opens by a key: <code>market-mirror keys create --name me --scope page:read</code>, on the machine that runs market-mirror, makes one.</p>';

/** @param isLocal whether a link would open it. */
const how = (isLocal: boolean) => `${isLocal ? howByLink + howByKey : howByKeyAlone}\n${keyForm}`;

const signInPage = (isLocal: boolean): HttpResponse =>
  htmlPage(401, 'Sign in with a link or a key', how(isLocal));

/** For a browser at an unknown address. It says nothing of the mirror, so every caller may see it. */
export const notFoundPage = (): HttpResponse =>
  htmlPage(404, 'Nothing here', '<p>There is nothing at this address. <a href="/">Overview</a></p>');

const oldLinkPage = (isLocal: boolean): HttpResponse =>
  htmlPage(
    401,
    isLocal ? 'This link is wrong, or too old' : 'Links open this page on its own machine only',
    how(isLocal),
  );

/** Why a key did not open it. */
const whyNot: Readonly<Record<number, string>> = {
  401: 'This key is not valid',
  403: 'This key does not open the page: it needs the scope page:read',
  429: 'Too many tries: wait a little',
  503: 'Keys cannot be looked up now: try again in a moment',
};

function refusedPage(status: number, waitSeconds: number | null, isLocal: boolean): HttpResponse {
  return htmlPage(status, whyNot[status] ?? 'This did not work', how(isLocal), retryAfter(waitSeconds));
}

/** A page that goes on by itself: a redirect from another site would send no strict cookie. */
function redirectPage(path: '/' | null, more: HttpResponse['headers'] = {}): HttpResponse {
  const to = path === null ? '0' : `0; url=${path}`;
  const link = `<p><a href="${path ?? ''}">Go on</a></p>`;
  return htmlPage(200, 'Opening', link, more, `<meta http-equiv="refresh" content="${to}">`);
}
