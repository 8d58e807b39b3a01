/** Every call to the model and what it answered, for tests to look at. */

import type { EndpointName } from './datasets.ts';
import type { Refusal } from './keys.ts';

export type Call = {
  /** 1 for the first call to the model. */
  readonly number: number;
  /** Epoch milliseconds at its arrival. */
  readonly at: number;
  readonly method: string;
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** Null for a path that does not exist. */
  readonly endpoint: EndpointName | null;
  /** As received, without Authorization, which must not be recorded. */
  readonly headers: Readonly<Record<string, string>>;
  readonly remoteAddress: string;
  readonly requestId: string;
  /** `ApiKey.id`; `unknown` for a key that was not issued; null without a key. */
  keyId: string | null;
  /** Calls in flight when this one was let in, itself included; or when it was refused. */
  inFlight: number;
  /** Why the model refused it, scripted faults aside. */
  refusedBy: Refusal | null;
  /** The status that was sent, or would have been if the connection had held; null until it is decided. */
  status: number | null;
  /** Ids of the rows in the answer, in their order. */
  rowIds: readonly string[];
  /** The whole answer was handed to a living connection. */
  sent: boolean;
};

export type CallLog = {
  /** Newest last. */
  readonly calls: Call[];
  add(call: Omit<Call, 'number'>): Call;
  /** Calls ever made by endpoint and by status, also of those no longer kept. */
  tally(): { total: number; byEndpoint: Record<string, number>; byStatus: Record<string, number> };
  count(call: Call): void;
};

export function createCallLog(keep: number): CallLog {
  const calls: Call[] = [];
  const byEndpoint: Record<string, number> = {};
  const byStatus: Record<string, number> = {};
  let total = 0;
  return {
    calls,
    add(seen) {
      total += 1;
      const call: Call = { number: total, ...seen };
      calls.push(call);
      // In large steps, since removing from the head moves all the others.
      if (calls.length >= 2 * keep) calls.splice(0, calls.length - keep);
      return call;
    },
    count({ endpoint, status }) {
      byEndpoint[endpoint ?? 'other'] = (byEndpoint[endpoint ?? 'other'] ?? 0) + 1;
      byStatus[String(status)] = (byStatus[String(status)] ?? 0) + 1;
    },
    tally: () => ({ total, byEndpoint: { ...byEndpoint }, byStatus: { ...byStatus } }),
  };
}
