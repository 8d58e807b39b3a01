/** Pages of a dataset with a contract and of one without, as the API would answer. */

import { z } from 'zod';
import { loadJobs } from '../../src/job/load.ts';
import type { Job } from '../../src/job.ts';
import type { CheckedRows, DiscoveredShape } from '../../src/validate/checked.ts';
import { checkPage, unknownShape } from '../../src/validate.ts';

const jobs = await loadJobs();

export function job(name: string): Job {
  return z.custom<Job>((found) => found !== undefined).parse(jobs.find((one) => one.name === name));
}

export const pagination = { offset: 0, limit: 100, total: 1, returned: 1, hasMore: false };

/** A row of ai-signals that fits, with some members changed or, by undefined, left out. */
export function signal(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    id: 's-1',
    timestamp: '2026-11-21T12:00:00Z',
    asset: 'BTCUSDT',
    action: 'BUY',
    confidence: 0.7,
    riskReward: null,
    entryPrice: 100,
    tpPrice: null,
    slPrice: null,
    rationale: 'because',
    status: 'open',
    validator: { allowed: true, score: null, reasonCodes: ['x'], finalAction: null },
    quality: { publishable: true, grade: 'A', ageSeconds: 1, freshness: 'live', checks: [] },
    assetClass: 'crypto',
    screenerScore: null,
    regime: null,
    dualAi: null,
    ...changes,
  };
}

export function signalPage(rows: unknown[], changes: Record<string, unknown> = {}): string {
  const page = {
    generatedAt: '2026-11-21T12:00:00Z',
    source: 'published-signal-snapshot',
    mode: 'read-only',
  };
  return JSON.stringify({ ...page, rows, pagination, ...changes });
}

export const checkSignals = (text: string) =>
  sorted(checkPage(job('ai-signals'), { text: () => text }, JSON.parse(text)));

/** @param rows JSON as it is sent. @param shape what was found out before. */
export function checkNews(rows: string[], shape: DiscoveredShape = unknownShape) {
  const text = `{"rows":[${rows.join(',')}]}`;
  return sorted(checkPage(job('news'), { text: () => text }, JSON.parse(text), { shape, hints: {} }));
}

/** The rows of a page that fit, those that do not, and the keys of all. */
export function sorted<Of extends CheckedRows>(page: Of) {
  return {
    ...page,
    keys: page.rows.map(({ key }) => key),
    accepted: page.rows.flatMap(({ row }) => row ?? []),
    refused: page.rows.flatMap(({ refused }) => refused ?? []),
  };
}
