/** A life of mirrors of mirrors: edits upstream while all of them read, then rest, then what must be true of each. */

import { seededRandom } from '../../model-api/index.ts';
import type { WalkRow } from '../../src/store.ts';
import { both, bump, change, type Edit, insert, move, publish, remove } from './edits.ts';
import { type Chain, type ChainOptions, type Level, openChain } from './mirror-chain.ts';
import { listNames } from './serve-bench.ts';
import { differences } from './truth.ts';

export type ChainLife = Omit<ChainOptions, 'random'> & { rounds: number; seed: number };

type Name = (typeof listNames)[number];

const MINUTE = 60_000;

/** As many remove what is gone. */
const PROOFS = 2;

/** @throws an Error that says which promise was broken, and where. */
export async function liveChain({ rounds, seed, ...options }: ChainLife): Promise<{ edits: number }> {
  const random = seededRandom(seed);
  const chain = await openChain({ ...options, random });
  try {
    const upstream = editing(chain, random);
    for (let round = 0; round < rounds; round += 1) {
      // Side by side, so that a level is read while it changes.
      await Promise.all(chain.levels.map((level) => mirrorAll(level, random)));
      chain.clock.advance(Math.floor(random() * 10 * MINUTE));
    }
    upstream.rest();
    for (const level of chain.levels) for (const job of listNames) await proveTwice(level, job);
    for (const job of listNames) checkLevels(chain, job, upstream.removed);
    return { edits: upstream.edits() };
  } finally {
    await chain.close();
  }
}

async function mirrorAll(level: Level, random: () => number): Promise<void> {
  for (const job of listNames) await level.mirror(job, random() < 0.3 ? 'glance' : 'walk');
}

/** Edits a dataset before most calls to the model; what is removed never comes back. */
function editing({ model }: Chain, random: () => number) {
  const removed = new Set<string>();
  let edits = 0;
  const datasets = datasetsOf(model);
  const anyOf = (rows: readonly unknown[]) => Math.floor(random() * rows.length);
  model.beforeAnswer = () => {
    if (random() < 0.4) return;
    const name = listNames[anyOf(listNames)] ?? 'news';
    const dataset = datasets[name];
    const at = anyOf(dataset.rows);
    const isRemoval = random() < 0.3 && dataset.rows.length > 20;
    if (isRemoval) removed.add(String(dataset.rows[at]?.[dataset.idField]));
    const edit = isRemoval
      ? remove(at)
      : ([insert(0, 2), bump(at), move(at, anyOf(dataset.rows)), change(at, { kind: `of edit ${edits}` })][
          Math.floor(random() * 4)
        ] as Edit);
    // A published snapshot changes with its time alone, and its rows are what the contract lists.
    const published = publish(new Date(Date.parse('2026-01-01') + edits * MINUTE).toISOString());
    if (name === 'ai-signals') both(isRemoval ? edit : insert(0, 1), published)(dataset);
    else edit(dataset);
    edits += 1;
  };
  return {
    removed,
    edits: () => edits,
    rest() {
      model.beforeAnswer = undefined;
    },
  };
}

const datasetsOf = ({ data }: Chain['model']): Record<Name, Parameters<Edit>[0]> => ({
  'ai-signals': data.aiSignals,
  news: data.news,
  'smart-wallets': data.smartWallets,
  'meme-signals': data.memeSignals,
});

const isProof = ({ verdict }: WalkRow) => verdict === 'snapshot' || verdict === 'verified';

async function proveTwice(level: Level, job: string): Promise<void> {
  for (let proofs = 0, walks = 0; proofs < PROOFS; walks += 1) {
    if (walks > 6) throw new Error(`${job} is not proven though nothing changes`);
    if (isProof(await level.mirror(job))) proofs += 1;
  }
}

function checkLevels({ model, levels }: Chain, job: Name, removed: ReadonlySet<string>): void {
  const verdicts = levels.map(({ sql }) =>
    sql<{ verdict: string }>(
      `SELECT verdict FROM walks WHERE job = ? AND kind = 'walk' ORDER BY id DESC LIMIT 1`,
      job,
    ).map(({ verdict }) => verdict),
  );
  const expected = job === 'ai-signals' ? 'snapshot' : 'verified';
  expectThat(
    verdicts.flat().every((verdict) => verdict === expected),
    `${job}: verdicts are ${verdicts}`,
  );
  const { rows, idField } = datasetsOf(model)[job];
  const keys = new Set(rows.map((row) => String(row[idField])));
  let above = levels[0]?.rows(job) ?? new Map<string, string>();
  expectThat(
    above.size === keys.size && [...keys].every((key) => above.has(key)),
    `${job}: the first level holds what is upstream`,
  );
  for (const [depth, level] of levels.entries()) {
    const held = level.rows(job);
    const found = differences(above, held);
    expectThat(found.lost.length === 0, `${job}, level ${depth + 1}: lost ${found.lost}`);
    expectThat(found.false.length === 0, `${job}, level ${depth + 1}: only there ${found.false}`);
    const gone = level.sql<{ _key: string }>(
      `SELECT _key FROM "${job.replaceAll('-', '_')}_history" WHERE _ended_by = 'delete'`,
    );
    const wrong = gone.filter(({ _key }) => !removed.has(_key));
    expectThat(wrong.length === 0, `${job}, level ${depth + 1}: removed though upstream: ${wrong.length}`);
    above = held;
  }
}

function expectThat(holds: boolean, promise: string): void {
  if (!holds) throw new Error(promise);
}
