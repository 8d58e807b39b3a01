import { expect, it } from 'vitest';
import { chance, integer, pick, type Random, seededRandom, shuffled } from '../../model-api/random.ts';
import { type PageFacts, requestOf } from '../../src/walk/checkpoint.ts';
import { beginWalk, type Previous, takeStep, type WalkKind } from '../../src/walk.ts';

/*
 * Walks over lists that change between two pages, as plain data: what each requested, proved and noted is in `recorded.txt`.
 * A change of that file is a change of what walks do: look at its lines, then run with `--update`.
 */

/** A row: its key, or null where it shows none. */
type Row = { key: string | null };

type List = {
  rows: Row[];
  /** What the API makes of every limit. */
  pageRows: number;
  total: 'right' | 'none' | 'too small' | 'too large';
  hasMore: 'right' | 'none';
  generatedAt: 'none' | 'published' | 'of each response';
  /** The rows as they were published last. */
  published: Row[];
  version: number;
};

type Edit = (list: List, random: Random) => void;

let serial = 0;
const newRow = (random: Random): Row => ({ key: chance(random, 0.03) ? null : `k${serial++}` });
const newRows = (count: number, random: Random): Row[] => Array.from({ length: count }, () => newRow(random));
const anywhere = ({ rows }: List, random: Random): number => integer(random, 0, Math.max(0, rows.length - 1));
const move = ({ rows }: List, from: number, to: number) => rows.splice(to, 0, ...rows.splice(from, 1));

/** These keep the order of the rows that stay, but for rows that move to the head. */
const orderly: [Edit, ...Edit[]] = [
  (list, random) => list.rows.unshift(...newRows(integer(random, 1, 4), random)),
  (list, random) => list.rows.splice(anywhere(list, random), 0, ...newRows(1, random)),
  (list, random) => list.rows.push(...newRows(1, random)),
  (list, random) => list.rows.splice(anywhere(list, random), integer(random, 1, 3)),
  (list, random) => move(list, anywhere(list, random), 0),
];
const disorderly: [Edit, ...Edit[]] = [
  ...orderly,
  (list, random) => list.rows.unshift(...newRows(3 * list.pageRows, random)),
  (list, random) => list.rows.splice(anywhere(list, random), 0, ...newRows(2 * list.pageRows, random)),
  (list, random) => list.rows.splice(anywhere(list, random), 3 * list.pageRows),
  (list, random) => move(list, anywhere(list, random), anywhere(list, random)),
  (list, random) => {
    list.rows = shuffled(list.rows, random);
  },
];

function makeList(random: Random): List {
  const pageRows = pick(random, [3, 5, 10, 20]);
  const rows = newRows(integer(random, 0, 8) * pageRows + integer(random, 0, 3), random);
  return {
    rows,
    pageRows,
    total: pick(random, ['right', 'right', 'right', 'none', 'too small', 'too large']),
    hasMore: pick(random, ['right', 'right', 'right', 'right', 'none']),
    generatedAt: pick(random, ['none', 'none', 'published', 'published', 'of each response']),
    published: [...rows],
    version: 0,
  };
}

const dateOf = (version: number) => new Date(Date.UTC(2026, 0, 1) + version * 60_000).toISOString();

/** The page at an offset, now and then with an envelope that is wrong. */
function pageOf(list: List, offset: number, random: Random | undefined): Omit<PageFacts, 'met' | 'known'> {
  if (list.generatedAt === 'of each response') list.version += 1;
  const rows = list.generatedAt === 'published' ? list.published : list.rows;
  const isWrong = (probability: number) => random !== undefined && chance(random, probability);
  const cut = isWrong(0.03) ? integer(random as Random, 0, list.pageRows - 1) : list.pageRows;
  const sent = rows.slice(offset, offset + cut);
  const total = rows.length + { right: 0, none: 0, 'too small': -3, 'too large': 4 }[list.total];
  const keys = sent.map(({ key }) => key);
  if (isWrong(0.01) && keys.length > 1) keys[1] = keys[0] ?? null;
  return {
    offset,
    keys,
    doubled: keys.map(() => false),
    received: sent.length,
    generatedAt: list.generatedAt === 'none' ? undefined : dateOf(list.version),
    digest: offset === 0 ? keys.join(' ') : undefined,
    pagination: {
      offset: isWrong(0.01) ? offset + 1 : offset,
      total: list.total === 'none' ? undefined : total,
      returned: isWrong(0.02) ? sent.length + integer(random as Random, -1, 1) : sent.length,
      hasMore: list.hasMore === 'none' ? undefined : !isWrong(0.01) && offset + cut < rows.length,
    },
  };
}

type Walk = { line: string; isProof: boolean; throughout: Set<string>; met: Set<string>; previous: Previous };

/** @param edit what happens upstream before each request but the first. */
function walkOver(
  list: List,
  kind: WalkKind,
  known: ReadonlySet<string>,
  previous: Previous | undefined,
  edit: () => void,
  faulty: Random | undefined,
): Walk {
  const shownRows = () => (list.generatedAt === 'published' ? list.published : list.rows);
  const keysNow = () => new Set(shownRows().flatMap(({ key }) => (key === null ? [] : [key])));
  const met = new Set<string>();
  const offsets: string[] = [];
  let throughout: Set<string> | undefined;
  const read = (offset: number): PageFacts => {
    if (throughout) edit();
    const now = keysNow();
    throughout = throughout ? new Set([...throughout].filter((key) => now.has(key))) : now;
    offsets.push(String(offset));
    const page = pageOf(list, offset, faulty);
    const marks = (keys: ReadonlySet<string>) => page.keys.map((key) => key !== null && keys.has(key));
    return { ...page, met: marks(met), known: marks(known) };
  };
  for (let checkpoint = beginWalk(previous); ; ) {
    const page = read(requestOf(checkpoint).offset);
    const step = takeStep(checkpoint, page, previous, kind);
    const { metRows, end } = step;
    checkpoint = step.checkpoint;
    if (metRows === 'clear') met.clear();
    if (metRows === 'add') for (const key of page.keys) if (key !== null) met.add(key);
    if (metRows !== 'add') offsets.push(metRows);
    if (!end) continue;
    const { rows, unkeyed, newInHead, newAtTail, newElsewhere, anomalies } = checkpoint;
    const verdict = end.stuck ?? (end.isRenewal ? 'renewed' : (end.verdict ?? 'head read'));
    const numbers = `${rows}+${unkeyed} rows, new ${newInHead} ${newAtTail} ${newElsewhere}`;
    return {
      line: `${kind} ${offsets.join(' ')}: ${verdict}, ${numbers} ${JSON.stringify(anomalies)}`,
      isProof: end.verdict === 'snapshot' || end.verdict === 'verified',
      throughout: throughout ?? new Set(),
      // A renewed proof is of the rows that are known.
      met: end.isRenewal ? new Set(known) : met,
      previous: {
        checkpoint,
        allowsRenewal: end.verdict === 'snapshot',
        isComplete: kind === 'walk' && !end.stuck && end.verdict !== 'union',
        glancedSince: 0,
      },
    };
  }
}

const WORLDS = 150;

it('walks request, prove and note what is recorded of them, and no proof misses a row', async () => {
  const lines: string[] = [];
  for (let seed = 1; seed <= WORLDS; seed += 1) {
    serial = 0;
    const random = seededRandom(seed);
    const list = makeList(random);
    const isOrderly = seed % 3 !== 0;
    const pace = pick(random, [0, 0.1, 0.3, 0.9]);
    const edit = () => {
      if (chance(random, pace)) pick(random, isOrderly ? orderly : disorderly)(list, random);
      if (!chance(random, pace / 3)) return;
      list.published = [...list.rows];
      list.version += chance(random, 0.9) ? 1 : -1;
    };
    lines.push(
      `${seed}: ${list.rows.length} rows by ${list.pageRows}, total ${list.total}, hasMore ${list.hasMore}, generatedAt ${list.generatedAt}`,
    );
    const known = new Set<string>();
    let previous: Previous | undefined;
    for (const kind of ['walk', 'glance', 'walk', 'walk'] as const) {
      const made = walkOver(list, kind, known, previous, edit, isOrderly ? undefined : random);
      lines.push(`  ${made.line}`);
      if (made.isProof && isOrderly && list.total !== 'too small')
        expect(
          [...made.throughout].filter((key) => !made.met.has(key)),
          `${seed}: ${made.line}`,
        ).toEqual([]);
      if (made.isProof) known.clear();
      for (const key of made.met) known.add(key);
      if (kind === 'walk') previous = made.previous;
      edit();
    }
  }
  await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('recorded.txt');
});
