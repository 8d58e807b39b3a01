/** Keys to call with, each with an account and limits of its own that nothing here reaches. */

import { openKeyring } from '../../../src/serve/service/keys.ts';

const limits = {
  quota: { calls: 1_000_000_000, periodMs: 3_600_000, kind: 'fixed' },
  rate: { calls: 100_000, periodMs: 1_000, burst: 100_000 },
  concurrency: 1_000,
} as const;

export function issueKeys(folder: string, count: number): string[] {
  const keyring = openKeyring(folder);
  const scopes = ['news:read', 'ai-signals:read'];
  const keys = Array.from({ length: count }, (_, at) => {
    const terms = { name: `key-${at}`, account: `account-${at}`, scopes, addresses: null, expiresAt: null };
    return keyring.create(terms, limits, Date.now()).key;
  });
  keyring.close();
  return keys;
}
