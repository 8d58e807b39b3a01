/** The account's usage. The specification shows nothing of it: this shape is an invention. */

import type { CallLog } from './calls.ts';
import type { Limits } from './limits/index.ts';

export function usageBody(log: CallLog, { quota }: Limits, now: number): Record<string, unknown> {
  const { total, byEndpoint, byStatus } = log.tally();
  const remaining = quota.remaining(now);
  return {
    account: { plan: 'sample', status: 'active' },
    quota: { limit: quota.limit, used: quota.limit - remaining, remaining },
    // This very call is among them, though its own answer is not yet counted.
    requests: { total, byEndpoint, byStatus },
    reportedAt: new Date(now).toISOString(),
  };
}
