/** AI signals in exactly the specified shape (AiSignal); every nullable field is null in some of any 24 rows. */

import { chance, decimal, integer, pick, pickSome, type Random } from '../random.ts';
import { type Asset, assets, type DatasetKind, isoTime, type RowMaker } from './kind.ts';

const makeSignal: RowMaker = (serial, at, random) => {
  const asset = pick(random, assets);
  const action = pick(random, ['BUY', 'BUY', 'SELL', 'HOLD']);
  const entry = decimal(random, asset.price * 0.93, asset.price * 1.07, asset.digits);
  const allowed = chance(random, 0.1) ? null : chance(random, 0.75);
  return {
    id: `sig_${serial.toString(36).padStart(7, '0')}`,
    timestamp: isoTime(at),
    asset: asset.symbol,
    action,
    confidence: decimal(random, 0.42, 0.96),
    ...exits(asset, action, entry, random),
    rationale: rationale(asset, action, random),
    status: pick(random, ['active', 'active', 'active', 'closed', 'expired']),
    validator: {
      allowed,
      score: allowed === null ? null : decimal(random, allowed ? 0.6 : 0.1, allowed ? 0.98 : 0.59),
      reasonCodes: pickSome(random, allowed === false ? objections : approvals, integer(random, 0, 3)),
      finalAction: allowed === null ? null : allowed ? action : 'HOLD',
    },
    quality: quality(allowed, random),
    assetClass: asset.assetClass,
    screenerScore: chance(random, 0.2) ? null : decimal(random, 35, 98, 1),
    regime: chance(random, 0.15)
      ? null
      : pick(random, ['trend_up', 'trend_down', 'range', 'high_volatility']),
    dualAi: dualAi(action, random),
  };
};

export const aiSignals: DatasetKind = {
  make: makeSignal,
  idField: 'id',
  moving: ['confidence', 'status', 'validator', 'screenerScore'],
  spacingMs: 4 * 60_000,
  dated: true,
};

function exits(asset: Asset, action: string, entry: number, random: Random) {
  if (action === 'HOLD') return { riskReward: null, entryPrice: entry, tpPrice: null, slPrice: null };
  const direction = action === 'BUY' ? 1 : -1;
  const risk = decimal(random, 0.006, 0.025, 4);
  const riskReward = decimal(random, 1.2, 3.6);
  const at = (move: number) => Number((entry * (1 + direction * move)).toFixed(asset.digits));
  return { riskReward, entryPrice: entry, tpPrice: at(risk * riskReward), slPrice: at(-risk) };
}

function quality(allowed: boolean | null, random: Random) {
  const grade = allowed === false ? 'REJECT' : pick(random, ['A', 'A', 'B', 'B', 'C']);
  const ageSeconds = integer(random, 5, 5_400);
  return {
    publishable: grade !== 'REJECT',
    grade,
    ageSeconds,
    freshness: freshnessOf(ageSeconds),
    checks: pickSome(random, checks, integer(random, 1, checks.length)),
  };
}

/** Where live ends and stale begins is an invention. */
export function freshnessOf(ageSeconds: number): 'live' | 'delayed' | 'stale' {
  if (ageSeconds < 900) return 'live';
  return ageSeconds < 3_600 ? 'delayed' : 'stale';
}

function dualAi(action: string, random: Random) {
  const shape = random();
  if (shape < 0.25) return null;
  if (shape < 0.4) return {};
  const analyst = pick(random, ['bullish', 'bearish', 'neutral', 'cautiously bullish']);
  if (shape < 0.55) return { analyst };
  const arbiter = pick(random, ['agrees', 'agrees with smaller size', 'disagrees']);
  const verdict = arbiter === 'disagrees' ? 'HOLD' : action;
  return { analyst, arbiter, verdict, confidence: decimal(random, 0.4, 0.95) };
}

function rationale(asset: Asset, action: string, random: Random): string {
  const [observation, context] = [pick(random, observations[action] ?? holding), pick(random, contexts)];
  return `${asset.name} ${observation}; ${context}.`;
}

const holding: [string, ...string[]] = [
  'trades in the middle of its two-week range',
  'has lost momentum below the previous high',
  'waits for the next inflation figures with falling volume',
];

const observations: Record<string, [string, ...string[]]> = {
  BUY: [
    'reclaimed its 200-period average on the 4 h chart with rising volume',
    'broke out of a three-week range and held the retest',
    'shows a higher low while sellers dry up at support',
    'absorbed heavy selling at the low of the prior day',
  ],
  SELL: [
    'was rejected at the weekly open for the third time',
    'lost its rising trend line on above-average volume',
    'prints a lower high with bearish divergence in momentum',
    'failed to hold the breakout and fell back into its range',
  ],
};

const contexts: [string, ...string[]] = [
  'funding stays neutral and spot leads futures',
  'the wider market confirms the move',
  'implied volatility is cheap against realised',
  'open interest rises without crowding',
  'the next resistance leaves room for the target',
  'news flow is quiet until the end of the week',
];

const approvals = ['TREND_ALIGNED', 'RR_ABOVE_MINIMUM', 'LIQUIDITY_OK', 'SPREAD_OK', 'NO_EVENT_RISK'];
const objections = ['RR_BELOW_MINIMUM', 'EVENT_RISK', 'LOW_LIQUIDITY', 'COUNTER_TREND', 'STALE_PRICE'];
const checks = ['schema', 'price_fresh', 'risk_bounds', 'duplicate', 'market_open'];
