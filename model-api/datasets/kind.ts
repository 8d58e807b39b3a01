/** What a kind of rows is, and the assets that rows speak of. */

import type { Random } from '../random.ts';

export type Row = Record<string, unknown>;

/** Makes a row. `serial` differs from row to row, `at` is its moment in epoch milliseconds. */
export type RowMaker = (serial: number, at: number, random: Random) => Row;

export type DatasetKind = {
  readonly make: RowMaker;
  /** The member that tells rows apart, whatever its name. */
  readonly idField: string;
  /** Members that change in the life of a row. */
  readonly moving: readonly string[];
  /** From one row's moment to the next older one's, on average. */
  readonly spacingMs: number;
  /** Set if the answer carries `generatedAt` from the start. */
  readonly dated: boolean;
};

export function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

export type AssetClass = 'crypto' | 'stock' | 'commodity' | 'index' | 'fx' | 'other';

export type Asset = {
  readonly symbol: string;
  readonly name: string;
  readonly assetClass: AssetClass;
  /** A price in its usual currency, around which samples move. */
  readonly price: number;
  /** Decimal places that its prices are quoted with. */
  readonly digits: number;
};

/** Real names with plausible prices, none of them a quotation. */
export const assets: readonly [Asset, ...Asset[]] = [
  { symbol: 'BTCUSDT', name: 'Bitcoin', assetClass: 'crypto', price: 97_400, digits: 1 },
  { symbol: 'ETHUSDT', name: 'Ether', assetClass: 'crypto', price: 3_420, digits: 2 },
  { symbol: 'SOLUSDT', name: 'Solana', assetClass: 'crypto', price: 188, digits: 2 },
  { symbol: 'AAPL', name: 'Apple', assetClass: 'stock', price: 246, digits: 2 },
  { symbol: 'XAUUSD', name: 'Gold', assetClass: 'commodity', price: 2_655, digits: 2 },
  { symbol: 'EURUSD', name: 'Euro', assetClass: 'fx', price: 1.0842, digits: 5 },
  { symbol: 'XRPUSDT', name: 'XRP', assetClass: 'crypto', price: 2.31, digits: 4 },
  { symbol: 'NVDA', name: 'Nvidia', assetClass: 'stock', price: 138, digits: 2 },
  { symbol: 'SPX', name: 'S&P 500', assetClass: 'index', price: 6_040, digits: 2 },
  { symbol: 'US10Y', name: '10-year Treasury yield', assetClass: 'other', price: 4.28, digits: 3 },
  { symbol: 'LINKUSDT', name: 'Chainlink', assetClass: 'crypto', price: 23.4, digits: 3 },
  { symbol: 'MSFT', name: 'Microsoft', assetClass: 'stock', price: 437, digits: 2 },
  { symbol: 'WTI', name: 'WTI crude', assetClass: 'commodity', price: 70.3, digits: 2 },
  { symbol: 'USDJPY', name: 'Dollar/yen', assetClass: 'fx', price: 151.6, digits: 3 },
  { symbol: 'NDX', name: 'Nasdaq 100', assetClass: 'index', price: 21_480, digits: 2 },
  { symbol: 'AVAXUSDT', name: 'Avalanche', assetClass: 'crypto', price: 41.2, digits: 3 },
  { symbol: 'TSLA', name: 'Tesla', assetClass: 'stock', price: 394, digits: 2 },
  { symbol: 'XAGUSD', name: 'Silver', assetClass: 'commodity', price: 30.9, digits: 3 },
  { symbol: 'GBPUSD', name: 'Sterling', assetClass: 'fx', price: 1.2718, digits: 5 },
  { symbol: 'DOGEUSDT', name: 'Dogecoin', assetClass: 'crypto', price: 0.4012, digits: 5 },
];
