/**
 * The health and the status of a running daemon over HTTP, on a unix socket in the mirror's folder.
 * Who may open the socket is decided by the folder's mode; no port is opened, so no other host, and no page in a
 * browser, can reach it.
 */

import { chmodSync, rmSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { join } from 'node:path';
import { Failure, toError } from '../errors.ts';
import { fitsSocket } from '../socket-path.ts';

/** What an answer that is under way has to arrive in when the daemon ends. */
const LAST_ANSWER_MS = 500;

type Parts = {
  dir: string;
  /** The status as `market-mirror status --json` prints it; an exit code of 0 is healthy. */
  status: () => { exitCode: number };
};

type HealthSocket = { socket: string; close(): Promise<void> };

/**
 * @returns undefined where the folder's path is too long for a socket: the daemon runs on without one.
 * @throws Failure `disk` where the socket cannot be made.
 */
export async function openHealthSocket({ dir, status }: Parts): Promise<HealthSocket | undefined> {
  const socket = join(dir, 'http.sock');
  if (!fitsSocket(socket)) return undefined;
  const server = createServer({ requestTimeout: 5_000 }, answer(status));
  try {
    // The caller holds the folder, so a socket that lies there is a dead daemon's.
    rmSync(socket, { force: true });
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(socket, resolve));
    chmodSync(socket, 0o600);
  } catch (cause) {
    await closeServer(server);
    const { code } = cause as NodeJS.ErrnoException;
    throw new Failure('disk', `${socket}: cannot be made a socket (${code}): move away what lies there`, {
      cause,
    });
  }
  return { socket, close: () => closeServer(server) };
}

function answer(status: Parts['status']): RequestListener {
  const routes = new Map<string, () => { code: number; body: unknown }>(
    Object.entries({
      '/health': () => {
        const healthy = status().exitCode === 0;
        return { code: healthy ? 200 : 503, body: { healthy } };
      },
      '/status': () => ({ code: 200, body: status() as unknown }),
    }),
  );
  return ({ method, url }, response) => {
    const route = routes.get(url ?? '');
    const { code, body } =
      method !== 'GET'
        ? { code: 405, body: { error: 'only GET is answered' } }
        : route
          ? attempt(route)
          : { code: 404, body: { error: `known are ${[...routes.keys()].join(' and ')}` } };
    response.writeHead(code, {
      'content-type': 'application/json',
      'cache-control': 'no-store',
      connection: 'close',
    });
    response.end(`${JSON.stringify(body)}\n`);
  };
}

function attempt(route: () => { code: number; body: unknown }) {
  try {
    return route();
  } catch (thrown) {
    return { code: 500, body: { error: toError(thrown).message } };
  }
}

/** Answers are written at once; a connection that has asked for nothing by then is cut. */
async function closeServer(server: Server): Promise<void> {
  const cut = setTimeout(() => server.closeAllConnections(), LAST_ANSWER_MS);
  await new Promise((resolve) => server.close(resolve));
  clearTimeout(cut);
}
