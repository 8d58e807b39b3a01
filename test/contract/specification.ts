/** The tables of the specification as data, written from its text alone and without the code of any implementation. */

import { z } from 'zod';

const count = z.int().min(0);
const dateTime = z.iso.datetime({ offset: true });

export const StandardPagination = z.strictObject({
  offset: count,
  limit: z.int().min(1).max(100),
  total: count,
  returned: count,
  hasMore: z.boolean(),
});

export const SignalValidator = z.strictObject({
  allowed: z.boolean().nullable(),
  score: z.number().nullable(),
  reasonCodes: z.array(z.string()),
  finalAction: z.string().nullable(),
});

export const SignalQuality = z.strictObject({
  publishable: z.boolean(),
  grade: z.enum(['A', 'B', 'C', 'REJECT']),
  ageSeconds: z.number().min(0),
  freshness: z.enum(['live', 'delayed', 'stale']),
  checks: z.array(z.string()),
});

export const DualAiSummary = z
  .strictObject({ analyst: z.string(), arbiter: z.string(), verdict: z.string(), confidence: z.number() })
  .partial();

export const AiSignal = z.strictObject({
  id: z.string(),
  timestamp: dateTime,
  asset: z.string(),
  action: z.string(),
  confidence: z.number(),
  riskReward: z.number().nullable(),
  entryPrice: z.number(),
  tpPrice: z.number().nullable(),
  slPrice: z.number().nullable(),
  rationale: z.string(),
  status: z.string(),
  validator: SignalValidator,
  quality: SignalQuality,
  assetClass: z.enum(['crypto', 'stock', 'commodity', 'index', 'fx', 'other']),
  screenerScore: z.number().nullable(),
  regime: z.string().nullable(),
  dualAi: DualAiSummary.nullable(),
});

export const AiSignalPage = z.strictObject({
  generatedAt: dateTime.nullable(),
  source: z.literal('published-signal-snapshot'),
  mode: z.literal('read-only'),
  rows: z.array(AiSignal),
  pagination: StandardPagination,
});

export const ErrorBody = z.strictObject({ error: z.string(), message: z.string() });

export const PagingParameters = z.strictObject({
  offset: count.default(0),
  limit: z.int().min(1).max(100).default(50),
});

export type Scope = 'news:read' | 'smart-wallets:read' | 'meme:read' | 'ai-signals:read';

/** The endpoints under /api/v1 with the scope that each requires; null where any active key may call it. */
export const requiredScopes = {
  'ai-signals': 'ai-signals:read',
  news: 'news:read',
  'smart-wallets': 'smart-wallets:read',
  'meme-signals': 'meme:read',
  usage: null,
} as const satisfies Record<string, Scope | null>;

export type EndpointName = keyof typeof requiredScopes;
export type ListName = Exclude<EndpointName, 'usage'>;

export const endpointNames = Object.keys(requiredScopes) as EndpointName[];
export const listNames = endpointNames.filter((name) => name !== 'usage');
export const scopes = Object.values(requiredScopes).filter((scope) => scope !== null);

/** The filters whose names are shown. How they match is not shown, but for the values of lane. */
export const filters = {
  news: ['q', 'category', 'symbol', 'market', 'source', 'filter', 'kind'],
  'smart-wallets': ['q', 'lane'],
} as const;
export const lanes = ['all', 'ready', 'hot', 'tracking', 'makers', 'whale'] as const;
