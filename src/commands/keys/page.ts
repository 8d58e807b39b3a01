/** A new link to the page of the service that runs on the folder. */

import { isoTime } from '../../clock.ts';
import { Failure } from '../../errors.ts';
import { isLoopback } from '../../loopback.ts';
import { readService } from '../../reading/status.ts';
import { PAGE_SCOPE } from '../../serve/service/keys.ts';
import { linkPath, openTokens } from '../../serve/ui/sessions.ts';

/** `expiresAt`: when it no longer opens the page, ISO 8601 UTC; null where that opens for everybody on this machine. */
export type Link = { readonly url: string; readonly expiresAt: string | null };

/** As long as another process may well be writing. */
const LOCK_WAIT_MS = 5_000;

/**
 * By the settings of the service that runs, which need not be those of who asks.
 * @throws Failure `incomplete` where nobody serves from the folder, `usage` where a link would open nothing.
 */
export function linkToPage(dir: string, now: number): Link {
  const { url, page } = readService(dir) ?? {};
  if (!url)
    throw new Failure(
      'incomplete',
      `nobody serves from ${dir}: run market-mirror serve, or set MIRROR_DIR to the folder of the one that runs`,
    );
  if (page === 'off')
    throw new Failure(
      'usage',
      `the service at ${url} runs with MIRROR_SERVE_PAGE=off: it has no page to which a link could lead`,
    );
  const address = onThisMachine(url);
  if (page === 'open') return { url: `${address}/`, expiresAt: null };
  const tokens = openTokens(dir, LOCK_WAIT_MS);
  try {
    const issued = tokens.issueLink(now);
    return { url: `${address}${linkPath(issued)}`, expiresAt: isoTime(issued.expiresAt) };
  } finally {
    tokens.close();
  }
}

const everywhere: Readonly<Record<string, string>> = { '0.0.0.0': '127.0.0.1', '[::]': '[::1]' };

/** Where a browser beside the service reaches it. */
function onThisMachine(url: string): string {
  const { protocol, hostname, port } = new URL(url);
  const host = everywhere[hostname] ?? hostname;
  if (isLoopback(host)) return `${protocol}//${host}${port && `:${port}`}`;
  throw new Failure(
    'usage',
    `serve listens on ${url}, which is not this machine's own: its page opens by a key, which market-mirror keys create --name me --scope ${PAGE_SCOPE} makes`,
  );
}
