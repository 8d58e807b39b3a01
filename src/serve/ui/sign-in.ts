/** The pages for those who may not see ours yet, in a browser with or without script. */

import { hash } from 'node:crypto';
import { type HttpResponse, retryAfter } from '../http/response.ts';

const style = `
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 36rem; margin: 12vh auto; padding: 0 1rem }
h1 { font-size: 1.25rem }
code { font-family: ui-monospace, monospace }
input, button { font: inherit; padding: .3rem .5rem; box-sizing: border-box }
input { width: 100%; margin: .25rem 0 .5rem }
`;

const headers = {
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
    headers: { ...headers, ...more, 'Content-Type': 'text/html; charset=utf-8', 'Cache-Control': 'no-store' },
    body: `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>market-mirror: ${title}</title>${head}<style>${style}</style></head>
<body><main><h1>${title}</h1>
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

export const signInPage = (isLocal: boolean): HttpResponse =>
  htmlPage(401, 'This page opens by a link or a key', how(isLocal));

export const oldLinkPage = (isLocal: boolean): HttpResponse =>
  htmlPage(
    401,
    isLocal ? 'This link is wrong, or too old' : 'Links open this page on its own machine alone',
    how(isLocal),
  );

/** Why a key did not open it. */
const whyNot: Readonly<Record<number, string>> = {
  401: 'This key is not valid',
  403: 'This key does not open the page: it needs the scope page:read',
  429: 'Too many tries: wait a little',
  503: 'Keys cannot be looked up now: try again in a moment',
};

export function refusedPage(status: number, waitSeconds: number | null, isLocal: boolean): HttpResponse {
  return htmlPage(status, whyNot[status] ?? 'This did not work', how(isLocal), retryAfter(waitSeconds));
}

/**
 * A browser that comes from another page sends no strict cookie, not even where it is redirected: it is sent on by a page of
 * ours.
 */
export function redirectPage(path: '/' | null, more: HttpResponse['headers'] = {}): HttpResponse {
  const to = path === null ? '0' : `0; url=${path}`;
  const link = `<p><a href="${path ?? ''}">Go on</a></p>`;
  return htmlPage(200, 'Opening', link, more, `<meta http-equiv="refresh" content="${to}">`);
}
