/** A dataset on paper: rows are names, and it knows which of them were there throughout; and kinds of change, each keeping the number of rows about what it was. */

import { integer, type Random, shuffled } from '../../../model-api/index.ts';

export type PaperDataset = {
  readonly rows: readonly string[];
  /** Published with every edit of a dated dataset. */
  readonly generatedAt: string;
  insert(at: number): void;
  remove(at: number): void;
  move(from: number, to: number): void;
  shuffle(): void;
  /** The rows there since the last call of this. */
  throughout(): string[];
};

export function createDataset(count: number, random: Random): PaperDataset {
  let made = 0;
  const name = () => {
    made += 1;
    return `row ${made}`;
  };
  let rows = Array.from({ length: count }, name);
  let atFirst = rows.slice();
  let gone = new Set<string>();
  let edits = 0;
  const edit = (change: () => void) => {
    edits += 1;
    change();
  };
  return {
    get rows() {
      return rows;
    },
    get generatedAt() {
      return new Date(edits * 1_000).toISOString();
    },
    insert: (at) => edit(() => void rows.splice(at, 0, name())),
    remove: (at) =>
      edit(() => {
        for (const row of rows.splice(at, 1)) gone.add(row);
      }),
    move: (from, to) => edit(() => void rows.splice(to, 0, ...rows.splice(from, 1))),
    shuffle: () =>
      edit(() => {
        rows = shuffled(rows, random);
      }),
    throughout() {
      const stayed = atFirst.filter((row) => !gone.has(row));
      atFirst = rows.slice();
      gone = new Set();
      return stayed;
    },
  };
}

export const anywhere = (rows: readonly unknown[], random: Random) => integer(random, 0, rows.length - 1);

export type Kind = {
  name: string;
  /** Changes between two calls, on average. */
  rates: readonly number[];
  /** Whether the order of the rows that stay is kept, but for rows that move to the head. */
  orderly: boolean;
  /** Whether the dataset carries `generatedAt`, new with every change. */
  dated?: true;
  /** Whether its pages say how many rows there are; they do unless given. */
  hasTotal?: false;
  edit(dataset: PaperDataset, random: Random): void;
};

const RATES = [0.3, 2];
const BURSTS = [0.05];

export const kinds: readonly Kind[] = [
  { name: 'nothing', rates: [0], orderly: true, edit: () => undefined },
  {
    name: 'newest first, oldest expire',
    rates: RATES,
    orderly: true,
    edit(dataset) {
      dataset.insert(0);
      dataset.remove(dataset.rows.length - 1);
    },
  },
  {
    name: 'oldest first, oldest expire',
    rates: RATES,
    orderly: true,
    edit(dataset) {
      dataset.remove(0);
      dataset.insert(dataset.rows.length);
    },
  },
  {
    name: 'newest first, sixty at once',
    rates: BURSTS,
    orderly: true,
    edit(dataset) {
      for (let row = 0; row < 60; row += 1) {
        dataset.insert(0);
        dataset.remove(dataset.rows.length - 1);
      }
    },
  },
  {
    name: 'oldest first, sixty at once',
    rates: BURSTS,
    orderly: true,
    edit(dataset) {
      for (let row = 0; row < 60; row += 1) {
        dataset.remove(0);
        dataset.insert(dataset.rows.length);
      }
    },
  },
  {
    name: 'any row goes, one comes at the head',
    rates: RATES,
    orderly: true,
    edit(dataset, random) {
      dataset.remove(anywhere(dataset.rows, random));
      dataset.insert(0);
    },
  },
  {
    name: 'any row goes, one comes anywhere',
    rates: RATES,
    orderly: true,
    edit(dataset, random) {
      dataset.remove(anywhere(dataset.rows, random));
      dataset.insert(anywhere(dataset.rows, random));
    },
  },
  {
    name: 'any row moves to the head',
    rates: RATES,
    orderly: true,
    edit: (dataset, random) => dataset.move(anywhere(dataset.rows, random), 0),
  },
  {
    name: 'any row moves anywhere',
    rates: RATES,
    orderly: false,
    edit: (dataset, random) => dataset.move(anywhere(dataset.rows, random), anywhere(dataset.rows, random)),
  },
  { name: 'any row moves, goes or comes anywhere', rates: RATES, orderly: false, edit: anything },
  {
    name: 'the same without a total',
    rates: RATES,
    orderly: false,
    hasTotal: false,
    edit: anything,
  },
  {
    name: 'all rows are shuffled',
    rates: [0.02],
    orderly: false,
    edit: (dataset) => dataset.shuffle(),
  },
  {
    name: 'published anew, any row goes, one comes',
    rates: [0.02, 0.3],
    orderly: true,
    dated: true,
    edit(dataset, random) {
      dataset.remove(anywhere(dataset.rows, random));
      dataset.insert(anywhere(dataset.rows, random));
    },
  },
];

/** A row moves, one goes or one comes, each as often. */
function anything(dataset: PaperDataset, random: Random): void {
  const at = () => anywhere(dataset.rows, random);
  const edits = [() => dataset.move(at(), at()), () => dataset.remove(at()), () => dataset.insert(at())];
  edits[Math.floor(random() * edits.length)]?.();
}
