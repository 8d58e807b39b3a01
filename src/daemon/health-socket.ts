/**
 * The health and the status of a running daemon over HTTP, on a unix socket in the mirror's folder, which only its user may open.
 * Without a port, no other host and no page in a browser can reach it.
 */

import { chmodSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { socketIn } from '../base/disk.ts';
import { Failure, toError } from '../base/errors.ts';

/** How long the end of the daemon waits for open connections. */
const LAST_RESPONSE_MS = 500;

type Parts = {
  dir: string;
  /** The status as `market-mirror status --json` prints it; an exit code of 0 is healthy. */
  status: () => { exitCode: number };
};

type HealthSocket = { socket: string; close(): Promise<void> };

/**
 * @throws Failure `config` where the folder's path is too long for a socket, `disk` where it cannot be made.
 */
export async function openHealthSocket({ dir, status }: Parts): Promise<HealthSocket> {
  const socket = socketIn(dir, 'http.sock');
  const server = createServer({ requestTimeout: 5_000 }, ({ method, url }, response) => {
    const [code, body] = respond(status, method, url);
    const headers = { 'content-type': 'application/json', 'cache-control': 'no-store', connection: 'close' };
    response.writeHead(code, headers).end(`${JSON.stringify(body)}\n`);
  });
  try {
    // The caller holds the daemon's lock, so a socket there is a dead daemon's.
    rmSync(socket, { force: true });
    await new Promise<void>((resolve, reject) => server.once('error', reject).listen(socket, resolve));
    chmodSync(socket, 0o600);
  } catch (cause) {
    await closeServer(server);
    const { code } = cause as NodeJS.ErrnoException;
    const message = `${socket}: cannot be made a socket (${code}): move away what lies there`;
    throw new Failure('disk', message, { cause });
  }
  return { socket, close: () => closeServer(server) };
}

function respond(status: Parts['status'], method?: string, url?: string): [code: number, body: unknown] {
  if (method !== 'GET') return [405, { error: 'only GET is answered' }];
  if (url !== '/health' && url !== '/status') return [404, { error: 'known are /health and /status' }];
  try {
    const current = status();
    if (url === '/status') return [200, current];
    const healthy = current.exitCode === 0;
    return [healthy ? 200 : 503, { healthy }];
  } catch (thrown) {
    return [500, { error: toError(thrown).message }];
  }
}

/** Responses are written at once; a connection that has sent no request by then is cut. */
async function closeServer(server: Server): Promise<void> {
  const cut = setTimeout(() => server.closeAllConnections(), LAST_RESPONSE_MS);
  await new Promise((resolve) => server.close(resolve));
  clearTimeout(cut);
}
