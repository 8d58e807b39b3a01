/** The four lists of the API, as seeded sample data. */

import { aiSignals } from './ai-signals.ts';
import { createDataset, type Dataset, type DatasetKind } from './dataset.ts';
import { memeSignals } from './meme-signals.ts';
import { news, newsWithoutIds } from './news.ts';
import { smartWallets } from './smart-wallets.ts';

export type { Dataset, Row } from './dataset.ts';

export const datasetNames = ['aiSignals', 'news', 'smartWallets', 'memeSignals'] as const;
export type DatasetName = (typeof datasetNames)[number];
export type Datasets = Record<DatasetName, Dataset>;

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
