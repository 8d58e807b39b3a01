/** A new link to the page of the service that runs on the folder. */

import { isoTime } from '../../clock.ts';
import { Failure } from '../../errors.ts';
import { isLoopback } from '../../loopback.ts';
import { readService } from '../../reading/status.ts';
import { PAGE_SCOPE } from '../../serve/keys.ts';
import { linkPath, openTokens } from '../../serve/page/tokens.ts';

/** `expiresAt`: when it no longer opens the page, ISO 8601 UTC. */
export type Link = { readonly url: string; readonly expiresAt: string };

/** As long as another process may well be writing. */
const LOCK_WAIT_MS = 5_000;

/**
 * @param access as MIRROR_SERVE_PAGE has it.
 * @throws Failure `incomplete` where nobody serves from the folder, `usage` where a link would open nothing.
 */
export function linkToPage(dir: string, access: string, now: number): Link {
  if (access === 'off')
    throw new Failure('usage', 'MIRROR_SERVE_PAGE is off: serve has no page to which a link could lead');
  const url = readService(dir)?.url;
  if (!url)
    throw new Failure(
      'incomplete',
      `nobody serves from ${dir}: run market-mirror serve, or set MIRROR_DIR to the folder of the one that runs`,
    );
  const address = onThisMachine(url);
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
