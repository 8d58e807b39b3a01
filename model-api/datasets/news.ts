/** News. The specification shows no field of it: this shape is one of many possible ones. */

import { chance, decimal, integer, pick, pickSome, type Random } from '../random.ts';
import { type Asset, assets, type DatasetKind, isoTime, type RowMaker } from './kind.ts';

const makeItem: RowMaker = (serial, at, random) => {
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
    updatedAt: chance(random, 0.7) ? null : isoTime(at + integer(random, 2, 90) * 60_000),
    category: pick(random, ['markets', 'policy', 'companies', 'technology', 'security']),
    market: asset.assetClass,
    kind,
    symbols: [asset.symbol, ...pickSome(random, ['BTCUSDT', 'SPX', 'XAUUSD'], integer(random, 0, 2))],
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

export const news: DatasetKind = {
  make: makeItem,
  idField: 'id',
  moving: ['summary', 'updatedAt', 'sentiment', 'impact', 'breaking'],
  spacingMs: 11 * 60_000,
  dated: false,
};

/** News whose rows have no id of any name: two rows differ by url, headline and time alone. */
export const newsWithoutIds: DatasetKind = {
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
