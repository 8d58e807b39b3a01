/** `market-mirror serve`: the API's own contract, answered from the mirror. */

import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { Command } from 'commander';
import { isoTime } from '../base/clock.ts';
import { Failure, toError } from '../base/errors.ts';
import type { Log } from '../base/log.ts';
import { isLoopback } from '../base/networks.ts';
import { withReleases } from '../base/releases.ts';
import { mayHaveProxy, readHost, readServeConfig, refuseOpenAddress, type ServeAddress } from '../config.ts';
import { listJobs, ownSchedules } from '../job/list.ts';
import type { ServeNote, ServeWord } from '../reading/status.ts';
import { PAGE_SCOPE } from '../serve/access/keys.ts';
import type { Context } from './context.ts';
import { withExamples } from './help.ts';

type Options = { host?: string; port?: string };

/**
 * How much the heap grows before V8 collects all of it. List pages count though they lie outside of the heap: by default a collection
 * came every hundred pages, and the next client waited 5 to 10 ms for it.
 */
const HEAP_GROWTH = '--heap-growing-percent=200';

const DEFAULT_ADDRESS: ServeAddress = { host: '127.0.0.1', port: 4_020 };

export function serveCommand(context: Context): Command {
  const command = new Command('serve')
    .option(
      '--host <host>',
      `the address to listen on (default: that of MIRROR_SERVE, else ${DEFAULT_ADDRESS.host})`,
    )
    .option(
      '--port <number>',
      `its port; 0 takes a free one (default: that of MIRROR_SERVE, else ${DEFAULT_ADDRESS.port})`,
    )
    .action(async (options: Options) => {
      try {
        await serve(options, context);
      } catch (thrown) {
        reportToDaemon(context, { failed: toError(thrown).message });
        throw thrown;
      }
    });
  return withExamples(
    command,
    ['on this machine alone, until Ctrl-C or SIGTERM', 'serve'],
    ['on another port', 'serve --port 8080'],
  );
}

async function serve(options: Options, context: Context): Promise<void> {
  const { environment, clock, stderr, signal } = context;
  setFlagsFromString(HEAP_GROWTH);
  const fromOptions = readAddress(options);
  const jobs = await listJobs();
  const { dir, logLevel, schedules, serve, reportsTo } = readServeConfig(environment, ownSchedules(jobs));
  const address = { ...DEFAULT_ADDRESS, ...serve.address, ...fromOptions };
  refuseOpenAddress(address, serve);
  if (!context.sendToParent && (stderr.isTTY || !existsSync(dir))) await refuseWithoutMirror(dir);
  // Loaded only here: the list of commands needs no server.
  const [{ openService }, { listen }, { hasMirror, mirrorFile }, { createLog }] = await Promise.all([
    import('../serve.ts'),
    import('../serve/http/server.ts'),
    import('../store/read.ts'),
    import('../base/log.ts'),
  ]);
  const log = createLog(logLevel, stderr.isTTY === true);
  await withReleases(async (releases) => {
    const settings = { ...serve, host: address.host, schedules, reportsTo };
    const lost = new AbortController();
    const onLost = (why: Failure) => lost.abort(why);
    const service = openService({ dir, jobs, settings, clock, log, onLost });
    releases.add(service.close);
    const place = { ...address, tls: serve.tls, proxies: serve.trusted };
    const listening = await listen(service.handle, place, { clock, log, errorBody: service.errorBody });
    releases.add(listening.end);
    const { url } = listening;
    const note: ServeNote = {
      ...{ url, since: isoTime(clock.now()), page: serve.page },
      ...(mayHaveProxy(serve) && { links: false }),
    };
    try {
      service.note(JSON.stringify(note));
    } catch (thrown) {
      log.warn({ err: toError(thrown).message }, 'status cannot be told where this serves');
    }
    log.info({ url }, `serving ${dir} at ${url}`);
    if (!hasMirror(dir))
      log.warn({}, `${mirrorFile(dir)} does not exist yet: run market-mirror sync or start`);
    if (serve.page !== 'off')
      announcePage(context, {
        url,
        isOpen: isLoopback(address.host) && !mayHaveProxy(serve),
        link: service.linkToPage,
        log,
      });
    reportToDaemon(context, { serving: url });
    const over = AbortSignal.any([signal, lost.signal]);
    if (!over.aborted) await once(over, 'abort');
    lost.signal.throwIfAborted();
    log.info({}, 'ending once the responses in flight are sent');
  });
}

/**
 * A service waits for its mirror in the folder that it will be in. Where there is none, or a person looks on, this was most likely
 * started elsewhere: an empty one would be taken for a success.
 * @throws Failure `incomplete`.
 */
async function refuseWithoutMirror(dir: string): Promise<void> {
  const { hasMirror, mirrorFile } = await import('../store/read.ts');
  if (!hasMirror(dir))
    throw new Failure(
      'incomplete',
      `${mirrorFile(dir)} does not exist yet: run market-mirror sync or start first, or go to the folder of your mirror (MIRROR_DIR)`,
    );
}

/**
 * A link opens the page to every reader: so it is shown to the person at the terminal, and no log keeps it.
 * @param isOpen whether links, or all of this machine, open it.
 */
function announcePage(
  { stderr, sendToParent }: Context,
  { url, isOpen, link, log }: { url: string; isOpen: boolean; link(): string | null; log: Log },
): void {
  if (!isOpen) log.info({}, `the page at ${url} opens by a key with the scope ${PAGE_SCOPE}`);
  else if (stderr.isTTY && !sendToParent) stderr.write(`\nThe page: ${url}${link() ?? ''}\n\n`);
  else log.info({}, 'market-mirror keys page prints a link to the page');
}

function reportToDaemon({ sendToParent }: Context, word: ServeWord): void {
  sendToParent?.(word);
}

function readAddress({ host, port }: Options): Partial<ServeAddress> {
  return {
    ...(host !== undefined && { host: hostOf(host) }),
    ...(port !== undefined && { port: portOf(port) }),
  };
}

function hostOf(text: string): string {
  const host = readHost(text.replace(/^\[(.*)\]$/, '$1'));
  if (host !== undefined) return host;
  throw new Failure('usage', `--host: '${text}' is no address or name of this machine, such as 127.0.0.1`);
}

function portOf(text: string): number {
  const port = Number(text);
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port;
  throw new Failure('usage', `--port: '${text}' is no port: it is a number up to 65535`);
}
