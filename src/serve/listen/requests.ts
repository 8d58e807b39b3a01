/** From a request that has come to its handler, or to its refusal. */

import type { RequestListener, Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { toError } from '../../errors.ts';
import type { Log } from '../../log.ts';
import type { Bounds } from './bounds.ts';
import type { Connections } from './connections.ts';
import {
  answerRefused,
  failed,
  hasBody,
  noTunnel,
  type Refused,
  refusedAs,
  writtenOut,
  wrongWith,
} from './refuse.ts';

/**
 * Answers by `handle` what can be answered, and refuses the rest.
 * @param log told of a handler that throws.
 */
export function answerRequests(
  server: Server,
  connections: Connections,
  handle: RequestListener,
  bounds: Bounds,
  log: Pick<Log, 'error'>,
): void {
  const answer: RequestListener = (request, response) => {
    const connection = connections.of(request.socket);
    if (!connection) return void request.socket.destroy();
    // It was sent before its client could know that it would be closed.
    if (connection.isLast) return;
    const wrong = wrongWith(request, bounds);
    // It is not read, and what comes behind it may be meant to be taken for a request.
    const isLast = wrong !== undefined || hasBody(request);
    connections.begin(connection, response, isLast);
    if (wrong) return answerRefused(response, wrong);
    try {
      handle(request, response);
    } catch (thrown) {
      log.error({ err: toError(thrown) }, 'a request could not be answered');
      if (response.headersSent) response.destroy();
      else answerRefused(response, failed);
    }
  };
  server.on('request', answer);
  // Nobody is asked to go on and send a body.
  server.on('checkContinue', answer);
  server.on('checkExpectation', answer);
  server.on('connect', (_, stream) => refuse(connections, stream, noTunnel));
  server.on('clientError', ({ code }: NodeJS.ErrnoException, stream) => {
    const hasSpoken = (stream as Socket).bytesRead > 0;
    if (hasSpoken && code !== 'ECONNRESET') refuse(connections, stream, refusedAs(code));
    else stream.destroy();
  });
}

/** Answers what is no request that a handler could answer, behind what is under way. */
function refuse(connections: Connections, stream: Duplex, refused: Refused): void {
  const connection = connections.of(stream);
  if (connection?.isLast) return;
  if (!connection || !stream.writable) return void stream.destroy();
  connections.dismiss(connection);
  // Between the parts of an answer nothing else can be said.
  if (connection.answers.size === 0) stream.end(writtenOut(refused));
}
