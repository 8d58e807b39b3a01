/** Meme-token alerts. The shape of a row is not specified: this one keeps its id under a name of its own. */

import { chance, decimal, hex, integer, pick, pickSome } from '../random.ts';
import { type DatasetKind, isoTime, type RowMaker } from './kind.ts';

const makeAlert: RowMaker = (serial, at, random) => {
  const token = pick(random, tokens);
  const chain = pick(random, ['solana', 'solana', 'base', 'ethereum']);
  const price = decimal(random, 0.0000004, 0.09, 9);
  return {
    alertId: serial,
    token: {
      symbol: token.symbol,
      name: token.name,
      chain,
      mint: hex(random, 40),
      decimals: chain === 'solana' ? 6 : 18,
    },
    alert: pick(random, [
      'volume_spike',
      'smart_money_entry',
      'liquidity_added',
      'new_listing',
      'holder_surge',
    ]),
    severity: pick(random, ['info', 'watch', 'high']),
    detectedAt: isoTime(at),
    priceUsd: price,
    marketCapUsd: chance(random, 0.15) ? null : Math.round(price * 1e9),
    change: {
      m5: decimal(random, -20, 45),
      h1: decimal(random, -45, 180),
      h24: chance(random, 0.3) ? null : decimal(random, -80, 900),
    },
    liquidity: {
      usd: decimal(random, 900, 2_400_000),
      locked: chance(random, 0.6),
      lockedUntil: chance(random, 0.5) ? null : isoTime(at + integer(random, 7, 365) * 86_400_000),
    },
    holders: integer(random, 40, 61_000),
    risk: { score: integer(random, 1, 100), flags: pickSome(random, flags, integer(random, 0, 3)) },
    smartMoney: chance(random, 0.5)
      ? null
      : { buyers: integer(random, 1, 14), netUsd: decimal(random, -12_000, 95_000) },
    note: chance(random, 0.6) ? null : pick(random, notes),
  };
};

export const memeSignals: DatasetKind = {
  make: makeAlert,
  idField: 'alertId',
  moving: ['priceUsd', 'marketCapUsd', 'change', 'holders', 'risk'],
  spacingMs: 90_000,
  dated: false,
};

const tokens: [{ symbol: string; name: string }, ...{ symbol: string; name: string }[]] = [
  { symbol: 'WAGMUT', name: 'Wagging Mutt' },
  { symbol: 'FROGE', name: 'Froge' },
  { symbol: 'MOONCAT', name: 'Moon Cat 🐈' },
  { symbol: 'NOODL', name: 'Noodle' },
  { symbol: 'GIGACHONK', name: 'Giga Chonk' },
  { symbol: 'TURBOTOAD', name: 'Turbo Toad' },
  { symbol: 'BRRR', name: 'Printer' },
  { symbol: '柴犬', name: '柴犬 Coin' },
];
const flags = ['mint_authority', 'top10_over_40pct', 'fresh_deployer', 'unlocked_liquidity', 'low_holders'];
const notes: [string, ...string[]] = [
  'Deployer funded by a known exchange wallet.',
  'Second alert for this token within the hour.',
  'Liquidity added and burned in the same block.',
];
