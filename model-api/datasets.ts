/** The four lists of the API as they stand upstream: seeded sample data, to be edited between any two calls. */

import { aiSignals } from './datasets/ai-signals.ts';
import { type DatasetKind, isoTime, type Row } from './datasets/kind.ts';
import { memeSignals } from './datasets/meme-signals.ts';
import { news, newsWithoutIds } from './datasets/news.ts';
import { smartWallets } from './datasets/smart-wallets.ts';
import { integer, pickSome, type Random, scramble, seededRandom } from './random.ts';

export type { Row } from './datasets/kind.ts';

export const datasetNames = ['aiSignals', 'news', 'smartWallets', 'memeSignals'] as const;
export type DatasetName = (typeof datasetNames)[number];

export type EndpointName = DatasetName | 'usage';

export type Datasets = Record<DatasetName, Dataset>;

export type Dataset = Pick<DatasetKind, 'idField' | 'moving'> & {
  /** In the order of the list. Edit in place or assign: the next answer shows it. */
  rows: Row[];
  /** Part of the answer unless undefined; null is sent as null. Does not follow edits of the rows. */
  generatedAt: string | null | undefined;
  /**
   * New rows of the same kind, newest first, with ids that were never used before: made at `at` (epoch
   * milliseconds), or a little later than all earlier ones.
   */
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
  const makeRow = (latest: number, spreadMs: number) => {
    serial += 1;
    const random = seededRandom(seed, spacingMs, serial);
    return kind.make(scramble(scramble(seed) ^ serial), latest - Math.floor(random() * spreadMs), random);
  };
  const makeFirst = () =>
    Array.from({ length: count }, (_, place) => makeRow(epoch - place * spacingMs, spacingMs));
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
      return Array.from({ length: more }, (_, place) => makeRow(newest - place * spacingMs, spreadMs));
    },
  };
}

/**
 * One edit, as a published list sees them: mostly a new row at the head for the last one at the tail, else a changed
 * row, now and then a row gone from the middle. `at` is its time in epoch milliseconds. `generatedAt` is left alone.
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
