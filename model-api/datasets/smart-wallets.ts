/** Smart Money wallets. Only `lane` values and the rows array are specified: the fields are an invention. */

import { chance, decimal, hex, integer, pick, pickSome, type Random } from '../random.ts';
import { type DatasetKind, isoTime, type RowMaker } from './kind.ts';

const makeWallet: RowMaker = (serial, at, random) => {
  const chain = pick(random, ['ethereum', 'base', 'solana', 'bsc']);
  const trades = integer(random, 4, 900);
  const realised = decimal(random, -40_000, 900_000);
  return {
    address:
      chain === 'solana'
        ? base58(serial, random)
        : `0x${serial.toString(16).padStart(8, '0')}${hex(random, 32)}`,
    chain,
    label: chance(random, 0.4) ? null : pick(random, labels),
    lane: pick(random, ['ready', 'hot', 'tracking', 'tracking', 'makers', 'whale']),
    score: decimal(random, 20, 99, 1),
    winRate: trades < 12 ? null : decimal(random, 0.31, 0.88, 3),
    trades30d: trades,
    pnl: {
      realizedUsd: realised,
      unrealizedUsd: chance(random, 0.2) ? null : decimal(random, -90_000, 250_000),
      roi30d: decimal(random, -0.4, 4.2, 3),
    },
    topTokens: pickSome(random, tokens, integer(random, 0, 4)).map((symbol) => ({
      symbol,
      valueUsd: decimal(random, 150, 480_000),
      share: chance(random, 0.15) ? null : decimal(random, 0.01, 0.6, 3),
    })),
    tags: pickSome(
      random,
      ['early buyer', 'dex', 'nft', 'market maker', 'bridge user', 'sniper'],
      integer(random, 0, 3),
    ),
    firstSeenAt: chance(random, 0.1) ? null : isoTime(at - integer(random, 30, 900) * 86_400_000),
    lastActiveAt: isoTime(at),
  };
};

export const smartWallets: DatasetKind = {
  make: makeWallet,
  idField: 'address',
  moving: ['lane', 'score', 'pnl', 'topTokens', 'lastActiveAt'],
  spacingMs: 7 * 60_000,
  dated: false,
};

const BASE58 = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz';

/** 44 characters, the last six of which are the serial: no two wallets share an address. */
function base58(serial: number, random: Random): string {
  const digit = (value: number) => BASE58.charAt(value % BASE58.length);
  const body = Array.from({ length: 38 }, () => digit(Math.floor(random() * BASE58.length)));
  const tail = Array.from({ length: 6 }, (_, place) => digit(Math.floor(serial / BASE58.length ** place)));
  return [...body, ...tail].join('');
}

const labels: [string, ...string[]] = [
  'Early PEPE buyer',
  'Fund 3-of-5',
  'Rotation desk',
  'Airdrop hunter',
  'Quiet whale',
];
const tokens = ['ETH', 'USDC', 'PEPE', 'WIF', 'LINK', 'AERO', 'BONK', 'ARB'];
