/** The four lists of the API as they stand upstream: seeded sample data, to be edited between any two calls. */

import {
  chance,
  decimal,
  hex,
  integer,
  pick,
  pickSome,
  type Random,
  scramble,
  seededRandom,
} from './random.ts';

export const datasetNames = ['aiSignals', 'news', 'smartWallets', 'memeSignals'] as const;
export type DatasetName = (typeof datasetNames)[number];

export type EndpointName = DatasetName | 'usage';

export type Datasets = Record<DatasetName, Dataset>;

export type Dataset = Pick<DatasetKind, 'idField' | 'moving'> & {
  /** In the order of the list. Edit in place or assign: the next answer shows it. */
  rows: Row[];
  /** Part of the answer unless undefined; null is sent as null. Does not follow edits of the rows. */
  generatedAt: string | null | undefined;
  /** New rows of the same kind, newest first, with new ids: made at `at` (epoch milliseconds), or a little after all others. */
  make(count: number, at?: number): Row[];
};

export type DatasetOptions = {
  /** Rows of every list, or of each; 250 where not given. */
  rows?: number | Partial<Record<DatasetName, number>>;
  /** The same seed gives the same data. */
  seed?: number;
  /** Around when the newest rows were made, in epoch milliseconds. A fixed date if not given. */
  epoch?: number;
  /** News rows without any id. */
  newsWithoutIds?: boolean;
};

const DEFAULT_ROWS = 250;
const DEFAULT_EPOCH = Date.UTC(2025, 10, 3, 12);

export function createDatasets(options: DatasetOptions): Datasets {
  const { rows, seed = 1, epoch = DEFAULT_EPOCH } = options;
  const create = (name: DatasetName, kind: DatasetKind) =>
    createDataset(kind, (typeof rows === 'number' ? rows : rows?.[name]) ?? DEFAULT_ROWS, seed, epoch);
  return {
    aiSignals: create('aiSignals', aiSignals),
    news: create('news', options.newsWithoutIds ? newsWithoutIds : news),
    smartWallets: create('smartWallets', smartWallets),
    memeSignals: create('memeSignals', memeSignals),
  };
}

/** `count` rows, newest first, the newest just before `epoch`. The first rows do not depend on `count`. */
function createDataset(kind: DatasetKind, count: number, seed: number, epoch: number): Dataset {
  const { idField, moving, spacingMs } = kind;
  let serial = 0;
  let newest = epoch;
  const makeRow = (latest: number, spreadMs: number, now: number) => {
    serial += 1;
    const random = seededRandom(seed, spacingMs, serial);
    const at = latest - Math.floor(random() * spreadMs);
    return kind.make(scramble(scramble(seed) ^ serial), at, random, now);
  };
  const makeFirst = () =>
    Array.from({ length: count }, (_, place) => makeRow(epoch - place * spacingMs, spacingMs, epoch));
  let rows: Row[] | undefined;
  return {
    idField,
    moving,
    // Made when first asked for: most who start a model ask for one dataset of it.
    get rows() {
      rows ??= makeFirst();
      return rows;
    },
    set rows(given) {
      rows = given;
    },
    generatedAt: kind.dated ? isoTime(epoch) : undefined,
    make(more, at) {
      rows ??= makeFirst();
      newest = at ?? newest + more * spacingMs;
      const spreadMs = at === undefined ? spacingMs : 0;
      return Array.from({ length: more }, (_, place) =>
        makeRow(newest - place * spacingMs, spreadMs, newest),
      );
    },
  };
}

/**
 * An edit: mostly a new row at the head for the last one at the tail, else a changed row, now and then one gone from the middle.
 * @param at its time in epoch milliseconds. `generatedAt` stays.
 */
export function liveEdit(dataset: Dataset, random: Random, at?: number): void {
  const { rows } = dataset;
  const place = integer(random, 0, rows.length - 1);
  const row = rows[place];
  const kind = random();
  if (row && kind < 0.35) rows[place] = changed(row, dataset.make(1, at), dataset.moving, random);
  else if (row && kind < 0.4) rows.splice(place, 1);
  else {
    rows.unshift(...dataset.make(1, at));
    if (kind < 0.95) rows.pop();
  }
}

/** The row with some of its moving members as a new row has them. */
function changed(row: Row, [fresh = {}]: Row[], moving: readonly string[], random: Random): Row {
  return { ...row, ...Object.fromEntries(pickSome(random, moving, 2).map((name) => [name, fresh[name]])) };
}

export type Row = Record<string, unknown>;

/** Makes a row. `serial` differs from row to row; `at` is its moment, and `now` that of the list, in epoch milliseconds. */
type RowMaker = (serial: number, at: number, random: Random, now: number) => Row;

type DatasetKind = {
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

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

type AssetClass = 'crypto' | 'stock' | 'commodity' | 'index' | 'fx' | 'other';

type Asset = {
  readonly symbol: string;
  readonly name: string;
  readonly assetClass: AssetClass;
  /** A price in its usual currency, around which samples move. */
  readonly price: number;
  /** Decimal places that its prices are quoted with. */
  readonly digits: number;
};

/** Real names with plausible prices, none of them a quotation. */
const assets: readonly [Asset, ...Asset[]] = [
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

/** AI signals in exactly the specified shape (AiSignal); every nullable field is null in some of any 24 rows. */
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

const aiSignals: DatasetKind = {
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

/** News. The specification shows no field of it: this shape is one of many possible ones. */
const makeItem: RowMaker = (serial, at, random, now) => {
  const asset = pick(random, assets);
  const source = pick(random, sources);
  const { headline, kind } = story(asset, random);
  const slug = headline
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .slice(0, 60);
  return {
    id: `n-${serial.toString(16).padStart(8, '0')}`,
    headline,
    summary: chance(random, 0.2) ? null : `${headline}. ${pick(random, followUps)}`,
    url: `https://${source.domain}/${isoTime(at).slice(0, 10)}/${slug}-${serial.toString(36)}`,
    source,
    author: chance(random, 0.35) ? null : pick(random, authors),
    publishedAt: isoTime(at),
    updatedAt: chance(random, 0.7) ? null : isoTime(Math.min(now, at + integer(random, 2, 90) * 60_000)),
    category: pick(random, ['markets', 'policy', 'companies', 'technology', 'security']),
    market: asset.assetClass,
    kind,
    symbols: [
      ...new Set([asset.symbol, ...pickSome(random, ['BTCUSDT', 'SPX', 'XAUUSD'], integer(random, 0, 2))]),
    ],
    sentiment: chance(random, 0.25)
      ? null
      : { label: pick(random, ['positive', 'negative', 'neutral']), score: decimal(random, -1, 1) },
    impact: pickSome(random, assets, integer(random, 0, 3)).map((touched) => ({
      symbol: touched.symbol,
      direction: pick(random, ['up', 'down', 'unclear']),
      movePct: chance(random, 0.3) ? null : decimal(random, -6, 6),
    })),
    image: chance(random, 0.4)
      ? null
      : { url: `https://${source.domain}/images/${serial.toString(36)}.jpg`, width: 1200, height: 675 },
    breaking: chance(random, 0.08),
    readMinutes: integer(random, 1, 9),
  };
};

const news: DatasetKind = {
  make: makeItem,
  idField: 'id',
  moving: ['summary', 'updatedAt', 'sentiment', 'impact', 'breaking'],
  spacingMs: 11 * 60_000,
  dated: false,
};

/** News whose rows have no id of any name: two rows differ by url, headline and time alone. */
const newsWithoutIds: DatasetKind = {
  ...news,
  idField: 'url',
  make: (...about) => {
    const { id: _, ...item } = makeItem(...about);
    return item;
  },
};

function story(asset: Asset, random: Random): { headline: string; kind: string } {
  const [kind, templates] = pick(random, stories);
  const text = pick(random, templates)
    .replace('{name}', asset.name)
    .replace('{move}', `${decimal(random, 0.4, 8.5, 1)}%`);
  return { headline: text, kind };
}

type Story = [kind: string, headlines: [string, ...string[]]];

const stories: [Story, ...Story[]] = [
  [
    'price',
    [
      '{name} gains {move} as buyers return after a quiet weekend',
      '{name} slips {move} ahead of the decision of the central bank',
      '{name} swings {move} in thin holiday trading',
    ],
  ],
  [
    'analysis',
    [
      'Why traders expect {name} to stay in its range',
      'Options market prices a {move} move in {name} by Friday',
      'Three charts that explain the rally in {name}',
    ],
  ],
  [
    'flow',
    [
      'Funds tied to {name} see their largest inflow since March',
      'Large holders of {name} trim positions, filings show',
    ],
  ],
  [
    'regulation',
    [
      'Regulator opens consultation on products linked to {name}',
      'Lawmakers question exchanges over {name} margin rules',
    ],
  ],
];

const sources: [{ name: string; domain: string }, ...{ name: string; domain: string }[]] = [
  { name: 'Harbour Wire', domain: 'harbourwire.example' },
  { name: 'The Ledger Post', domain: 'ledgerpost.example' },
  { name: 'Block & Bourse', domain: 'blockandbourse.example' },
  { name: 'Macro Morning', domain: 'macromorning.example' },
];

const followUps: [string, ...string[]] = [
  'Volume was above its monthly average, and analysts pointed to positioning rather than news.',
  'Desks in London and Singapore reported two-way interest through the session.',
  'The move follows a week in which volatility fell to its lowest level this year.',
  'A spokesperson declined to comment.',
];

const authors: [string, ...string[]] = [
  'Ana Lindqvist',
  'Tomás Ferreira',
  'Mei Tanaka',
  'J. Okafor',
  'Priya Raman',
];

/** Smart Money wallets. Only `lane` values and the rows array are specified: the fields are an invention. */
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

const smartWallets: DatasetKind = {
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

/** Meme-token alerts. The shape of a row is not specified: this one keeps its id under a name of its own. */
const makeAlert: RowMaker = (serial, at, random) => {
  const token = pick(random, memeTokens);
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

const memeSignals: DatasetKind = {
  make: makeAlert,
  idField: 'alertId',
  moving: ['priceUsd', 'marketCapUsd', 'change', 'holders', 'risk'],
  spacingMs: 90_000,
  dated: false,
};

const memeTokens: [{ symbol: string; name: string }, ...{ symbol: string; name: string }[]] = [
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
