/** When a call is over: its answer is sent, or its client has gone. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** What is to be done if the connection closes; one listener of it serves all calls that come by it. */
const pending = new WeakMap<Socket, Set<() => void>>();

/**
 * Does some work once when the call is over; at once where its connection has closed already. Node.js does not tell an answer of
 * that which waits behind another on the connection.
 */
export function onceOver({ socket }: IncomingMessage, outgoing: ServerResponse, work: () => void): void {
  if (socket.destroyed) {
    work();
    return;
  }
  const waiting = pending.get(socket) ?? watch(socket);
  const over = () => {
    if (waiting.delete(over)) work();
  };
  waiting.add(over);
  outgoing.once('close', over);
}

function watch(socket: Socket): Set<() => void> {
  const waiting = new Set<() => void>();
  pending.set(socket, waiting);
  socket.once('close', () => {
    for (const over of [...waiting]) over();
  });
  return waiting;
}
