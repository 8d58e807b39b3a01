/** Answers of the service over a mirror of the model API, as a test took them down: `npx vitest run test/serve/openapi -u`. */

/** Bodies of successes, by path. */
export const bodyExamples = {
  '/api/v1/ai-signals': {
    generatedAt: '2025-11-03T12:00:00.000Z',
    source: 'published-signal-snapshot',
    mode: 'read-only',
    rows: [
      {
        id: 'sig_0h2vu3z',
        timestamp: '2025-11-03T11:57:38.462Z',
        asset: 'SOLUSDT',
        action: 'SELL',
        confidence: 0.64,
        riskReward: 3,
        entryPrice: 188.74,
        tpPrice: 183.64,
        slPrice: 190.44,
        rationale:
          'Solana was rejected at the weekly open for the third time; implied volatility is cheap against realised.',
        status: 'active',
        validator: {
          allowed: true,
          score: 0.71,
          reasonCodes: ['LIQUIDITY_OK', 'SPREAD_OK'],
          finalAction: 'SELL',
        },
        quality: {
          publishable: true,
          grade: 'B',
          ageSeconds: 3978,
          freshness: 'stale',
          checks: ['schema', 'price_fresh', 'risk_bounds', 'duplicate'],
        },
        assetClass: 'crypto',
        screenerScore: 45.8,
        regime: 'trend_down',
        dualAi: { analyst: 'cautiously bullish', arbiter: 'agrees', verdict: 'SELL', confidence: 0.53 },
      },
    ],
    pagination: { offset: 0, limit: 1, total: 3, returned: 1, hasMore: true },
  },
  '/api/v1/news': {
    rows: [
      {
        id: 'n-3d8ed02f',
        headline: 'Three charts that explain the rally in Nasdaq 100',
        summary:
          'Three charts that explain the rally in Nasdaq 100. Volume was above its monthly average, and analysts pointed to positioning rather than news.',
        url: 'https://harbourwire.example/2025-11-03/three-charts-that-explain-the-rally-in-nasdaq-100-h2vu3z',
        source: { name: 'Harbour Wire', domain: 'harbourwire.example' },
        author: null,
        publishedAt: '2025-11-03T11:55:19.595Z',
        updatedAt: null,
        category: 'companies',
        market: 'index',
        kind: 'analysis',
        symbols: ['NDX'],
        sentiment: null,
        impact: [{ symbol: 'AAPL', direction: 'down', movePct: null }],
        image: null,
        breaking: false,
        readMinutes: 7,
      },
    ],
    pagination: { offset: 0, limit: 1, total: 3, returned: 1, hasMore: true },
  },
  '/api/v1/smart-wallets': {
    rows: [
      {
        address: '0x3d8ed02f0f75073e89b71c0511faf84d53286a22',
        chain: 'bsc',
        label: null,
        lane: 'whale',
        score: 38.5,
        winRate: 0.626,
        trades30d: 556,
        pnl: { realizedUsd: 405378.72, unrealizedUsd: -51191.31, roi30d: 0.625 },
        topTokens: [],
        tags: ['early buyer', 'market maker', 'sniper'],
        firstSeenAt: '2024-11-18T11:59:09.312Z',
        lastActiveAt: '2025-11-03T11:59:09.312Z',
      },
    ],
    pagination: { offset: 0, limit: 1, total: 3, returned: 1, hasMore: true },
  },
  '/api/v1/meme-signals': {
    rows: [
      {
        alertId: 1032769583,
        token: {
          symbol: 'TURBOTOAD',
          name: 'Turbo Toad',
          chain: 'ethereum',
          mint: '28224b977a2de825f6127243ef3307e730826271',
          decimals: 18,
        },
        alert: 'new_listing',
        severity: 'high',
        detectedAt: '2025-11-03T11:59:22.623Z',
        priceUsd: 0.01812861,
        marketCapUsd: 18128610,
        change: { m5: -8.64, h1: 120.58, h24: 798.47 },
        liquidity: { usd: 1382974.77, locked: true, lockedUntil: null },
        holders: 5057,
        risk: { score: 68, flags: ['low_holders'] },
        smartMoney: { buyers: 3, netUsd: 34730.58 },
        note: null,
      },
    ],
    pagination: { offset: 0, limit: 1, total: 3, returned: 1, hasMore: true },
  },
  '/api/v1/usage': {
    limit: 1000,
    remaining: 996,
    periodMs: 3600000,
    moreInMs: 3600000,
    limits: { quota: { calls: 1000, periodMs: 3600000, kind: 'fixed' }, rate: null, concurrency: null },
    running: 0,
  },
  '/healthz': { status: 'ok' },
};

/** Bodies of errors, by code. */
export const errorExamples = {
  invalid_api_key: { error: 'invalid_api_key', message: 'The API key is missing or not valid.' },
  forbidden: { error: 'forbidden', message: 'This API key may not be used for this request.' },
  too_many_requests: {
    error: 'too_many_requests',
    message: 'A limit of the account has been reached. Try again later.',
  },
  invalid_seq: {
    error: 'invalid_seq',
    message: 'seq must be the X-Mirror-Seq of an earlier answer of this endpoint.',
  },
  seq_gone: { error: 'seq_gone', message: 'That moment is no longer kept. Ask again without seq.' },
  method_not_allowed: { error: 'method_not_allowed', message: 'Only GET and HEAD are allowed.' },
  service_unavailable: {
    error: 'service_unavailable',
    message: 'A required service is temporarily unavailable.',
  },
};
