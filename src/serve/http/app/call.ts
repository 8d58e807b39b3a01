/** A call, from the moment it comes until it has been answered or its client has gone, and what is told of it then. */

import type { IncomingMessage } from 'node:http';
import type { Clock } from '../../../clock.ts';
import type { Permit } from '../../service/admission.ts';
import type { Origin } from './client.ts';
import type { Stream } from './stream.ts';

/** A call that has been answered, or whose client has gone. */
export type AnsweredCall = {
  readonly requestId: string;
  readonly route: string;
  readonly method: string;
  readonly status: number;
  readonly ms: number;
  /** Of the body. */
  readonly bytes: number;
  readonly address: string;
  readonly keyId: string | null;
  readonly account: string | null;
  /** The limit that refused it. */
  readonly limit: string | null;
};

export type Call = Origin & {
  readonly requestId: string;
  readonly startedAt: number;
  readonly route: string;
  keyId: string | null;
  account: string | null;
  limit: string | null;
  permit: Permit | null;
  status: number;
  bytes: number;
  isOver: boolean;
};

export type CallParts = {
  originOf(request: IncomingMessage): Origin;
  requestId(): string;
  clock: Pick<Clock, 'monotonic'>;
  /** A call has come; `told` follows, whatever becomes of it. */
  began(): void;
  told(call: AnsweredCall): void;
};

/** Of a call whose client went before there was an answer, as proxies write it in their logs. */
const CLIENT_GONE = 499;

/** @param route the name of what it is for. */
export function beginCall(parts: CallParts, request: IncomingMessage, route: string): Call {
  parts.began();
  return {
    requestId: parts.requestId(),
    ...parts.originOf(request),
    startedAt: parts.clock.monotonic(),
    route,
    keyId: null,
    account: null,
    limit: null,
    permit: null,
    status: CLIENT_GONE,
    bytes: 0,
    isOver: false,
  };
}

/** Counts what is written for the call. */
export function counted(body: Stream, call: Call): Stream {
  return (write) =>
    body((piece) => {
      call.bytes += Buffer.byteLength(piece);
      return write(piece);
    });
}

export function endCall(parts: CallParts, call: Call, { method = '' }: IncomingMessage): void {
  call.isOver = true;
  call.permit?.leave();
  const { requestId, route, status, bytes, address, keyId, account, limit } = call;
  const ms = parts.clock.monotonic() - call.startedAt;
  parts.told({ requestId, route, method, status, ms, bytes, address, keyId, account, limit });
}
