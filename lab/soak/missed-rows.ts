/** The rows that a pass misses, and those that it removes falsely: the bare rule of the specification beside ours. */

import { integer, type Random, seededRandom, shuffled } from '../../model-api/index.ts';
import { PAGE_ROWS } from '../../src/walk/checkpoint.ts';
import { walkOnPaper } from '../../test/helpers/paper.ts';
import { markdownTable } from '../figures.ts';

type Figures = {
  /** A row-pass is one row, there throughout one pass. */
  rowPasses: number;
  passes: number;
  /** Rows there throughout a pass that did not come, in any pass and in those that claim a proof. */
  missed: number;
  missedInProofs: number;
  /** Rows that left though they were there throughout: a snapshot lacked them, or two other proofs in a row. */
  falselyRemoved: number;
  proofs: number;
  calls: number;
  /** Of these, the ones that nobody needed. */
  wasted: number;
  leastCalls: number;
};

const ROWS = 1_000;

const heads = [
  'what changes',
  'changes a call',
  'missed: bare rule',
  'missed: ours',
  'missed in proofs',
  'missed a proof',
  'falsely removed: bare rule',
  'falsely removed: ours',
  'proofs',
  'calls ÷ least: bare rule',
  'calls ÷ least: ours',
];

/** So many calls under way at once. */
const SIDE_BY_SIDE = 4;

const headsSideBySide = [
  'what changes',
  'changes a call',
  'missed',
  'missed in proofs',
  'missed a proof',
  'falsely removed',
  'proofs',
  'calls ÷ least',
  'of them for nothing',
];

/**
 * Markdown, a row a kind of change and rate; `rowPasses` for each rule.
 * @throws Error where a proof of ours missed a row under changes that keep the order: none ever may.
 */
export async function missedRowsTable(rowPasses: number, seed: number): Promise<string> {
  return await table(heads, async (kind, rate) => {
    const bare = await measure(kind, rate, () => bareRule, rowPasses, seed);
    const ours = await measure(kind, rate, (random) => ourRule(1, random), rowPasses, seed);
    checkProofs(kind, ours);
    return [
      perMillion(bare, 'missed'),
      perMillion(ours, 'missed'),
      perMillion(ours, 'missedInProofs'),
      aProof(ours),
      perMillion(bare, 'falselyRemoved'),
      perMillion(ours, 'falselyRemoved'),
      percent(ours.proofs, ours.passes),
      ratio(bare),
      ratio(ours),
    ];
  });
}

/** The same of our rule alone, with calls side by side that are answered in any order, however many of them are for nothing. */
export async function sideBySideTable(rowPasses: number, seed: number): Promise<string> {
  return await table(headsSideBySide, async (kind, rate) => {
    const ours = await measure(kind, rate, (random) => ourRule(SIDE_BY_SIDE, random), rowPasses, seed);
    checkProofs(kind, ours);
    return [
      perMillion(ours, 'missed'),
      perMillion(ours, 'missedInProofs'),
      aProof(ours),
      perMillion(ours, 'falselyRemoved'),
      percent(ours.proofs, ours.passes),
      ratio(ours),
      percent(ours.wasted, ours.calls),
    ];
  });
}

async function table(
  heads: readonly string[],
  cells: (kind: Kind, rate: number) => Promise<string[]>,
): Promise<string> {
  const lines: (string | number)[][] = [];
  for (const kind of kinds)
    for (const rate of kind.rates) lines.push([kind.name, rate, ...(await cells(kind, rate))]);
  return markdownTable(heads, lines);
}

const percent = (part: number, whole: number) => `${Math.round((100 * part) / whole)} %`;

function checkProofs({ name, orderly }: Kind, { missedInProofs, falselyRemoved }: Figures): void {
  if (orderly && missedInProofs + falselyRemoved > 0)
    throw new Error(`${name}: ${missedInProofs} rows missed in proofs, ${falselyRemoved} falsely removed`);
}

function perMillion(figures: Figures, what: 'missed' | 'missedInProofs' | 'falselyRemoved'): string {
  const rate = (figures[what] * 1_000_000) / figures.rowPasses;
  return rate === 0 || rate >= 10 ? Math.round(rate).toLocaleString('en') : rate.toPrecision(2);
}

/** How many rows that were there throughout a proof has missed, on average. */
const aProof = ({ missedInProofs, proofs }: Figures) =>
  missedInProofs === 0 ? '0' : (missedInProofs / proofs).toPrecision(2);

const ratio = ({ calls, leastCalls }: Figures) => (calls / leastCalls).toFixed(2);

/** What a rule loses, removes falsely and costs while a dataset changes in one way. */
async function measure(
  kind: Kind,
  rate: number,
  ruleOf: (random: Random) => Rule,
  rowPasses: number,
  seed: number,
): Promise<Figures> {
  const random = seededRandom(seed);
  const dataset = createDataset(ROWS, random);
  const rule = ruleOf(random);
  const total: Figures = {
    rowPasses: 0,
    passes: 0,
    missed: 0,
    missedInProofs: 0,
    falselyRemoved: 0,
    proofs: 0,
    calls: 0,
    wasted: 0,
    leastCalls: 0,
  };
  const upstream = {
    rows() {
      for (let left = changes(rate, random); left > 0; left -= 1) kind.edit(dataset, random);
      return dataset.rows;
    },
    generatedAt: () => (kind.dated ? dataset.generatedAt : undefined),
    hasTotal: kind.hasTotal ?? true,
  };
  let absentBefore = new Set<string>();

  while (total.rowPasses < rowPasses) {
    dataset.throughout();
    const { calls, wasted, received, met, proof } = await rule(upstream);
    const throughout = dataset.throughout();
    const missed = throughout.filter((row) => !received.has(row)).length;
    total.rowPasses += throughout.length;
    total.passes += 1;
    total.missed += missed;
    total.calls += calls;
    total.wasted += wasted;
    total.leastCalls += Math.max(1, Math.ceil(dataset.rows.length / PAGE_ROWS));
    if (!proof) continue;
    total.proofs += 1;
    const absent = throughout.filter((row) => !met.has(row));
    total.missedInProofs += absent.length;
    total.falselyRemoved += absent.filter((row) => proof === 'snapshot' || absentBefore.has(row)).length;
    absentBefore = new Set(absent);
  }
  return total;
}

/** How many changes fall between two calls: Poisson with this mean. */
function changes(mean: number, random: Random): number {
  const limit = Math.exp(-mean);
  let count = 0;
  for (let product = random(); product > limit; product *= random()) count += 1;
  return count;
}

type Upstream = {
  /** The rows at the next call. */
  rows(): readonly string[];
  generatedAt(): string | undefined;
  /** Whether pages say how many rows there are. */
  hasTotal: boolean;
};

type Outcome = {
  calls: number;
  /** Calls whose answers nobody needed. */
  wasted: number;
  received: Set<string>;
  /** The rows that count as met; what is not among them counts as absent. */
  met: Set<string>;
  /** What it claims to prove. */
  proof: 'snapshot' | 'verified' | null;
};

type Rule = (upstream: Upstream) => Promise<Outcome>;

/** Go on while there are more, and advance by the rows that came (specification, StandardPagination). */
const bareRule: Rule = async ({ rows }) => {
  const received = new Set<string>();
  for (let offset = 0, calls = 1; ; calls += 1) {
    const all = rows();
    const page = all.slice(offset, offset + PAGE_ROWS);
    for (const row of page) received.add(row);
    offset += page.length;
    if (offset >= all.length) return { calls, wasted: 0, received, met: received, proof: 'verified' };
  }
};

/** @param sideBySide so many calls under way at once, answered in an order drawn by `random`. */
const ourRule =
  (sideBySide: number, random: Random): Rule =>
  async ({ rows, generatedAt, hasTotal }) => {
    const walked = await walkOnPaper(rows, {
      generatedAt,
      total: (count) => (hasTotal ? count : undefined),
      sideBySide: { calls: sideBySide, random },
    });
    const { calls, wasted, received, met, end } = walked;
    return { calls, wasted, received, met, proof: end.verdict === 'union' ? null : end.verdict };
  };

type PaperDataset = {
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
