/** The demo for who stays: lists that change, one that gets into trouble, the service and its page. */

import { settingOf } from '../../config.ts';
import { Failure } from '../../errors.ts';
import { type ListedJob, scopesOf } from '../../job-list.ts';
import { readService } from '../../reading/status.ts';
import { openKeyring } from '../../serve/service/keys.ts';
import type { Context } from '../context.ts';
import { linkToPage } from '../keys.ts';
import { TROUBLED } from './past.ts';

/** So often, for people who wait for something to happen. */
const SCHEDULE = 'every 30s';

/** The daemon runs the service on a port of its own; what that logs would go between the lines. */
export function liveSettings(jobs: readonly ListedJob[]): Record<string, string> {
  const schedules = jobs.map(({ name }) => [settingOf(name), SCHEDULE]);
  return { ...Object.fromEntries(schedules), MIRROR_SERVE: '127.0.0.1:0', LOG_LEVEL: 'error' };
}

/** Prints how to look at the service and the page, and waits for Ctrl-C. @param over of the daemon, if it ends. */
export async function showService(
  context: Context,
  dir: string,
  jobs: readonly ListedJob[],
  over: Promise<void>,
): Promise<void> {
  const { stdout, clock, signal } = context;
  const url = await urlOf(dir, context);
  if (url === undefined) return;
  const keyring = openKeyring(dir);
  const terms = { name: 'demo', account: 'demo', scopes: scopesOf(jobs), addresses: null, expiresAt: null };
  const { key } = keyring.create(terms, undefined, clock.now());
  keyring.close();
  stdout.write(`
The mirror goes on, with lists that change every few seconds; the model refuses ${TROUBLED} since some hours, so
that you see how trouble is shown. While this runs, the mirror answers as the API does, to who has a key:

  curl -H "Authorization: Bearer ${key}" "${url}/api/v1/ai-signals?limit=3"

And it has a page to look at:

  ${linkToPage(dir, clock.now()).url}

Ctrl-C ends it.
`);
  if (!signal.aborted) await over;
}

const TRIES = { count: 100, everyMs: 100 };

/** Undefined where it was told to stop. */
async function urlOf(dir: string, { clock, signal }: Context): Promise<string | undefined> {
  for (let left = TRIES.count; left > 0; left -= 1) {
    const url = readService(dir)?.url;
    if (url) return url;
    await clock.sleep(TRIES.everyMs, signal).catch(() => undefined);
    if (signal.aborted) return undefined;
  }
  throw new Failure(
    'incomplete',
    'the service of the demo does not come up; market-mirror serve may tell why',
  );
}
