/** A list of the model API in memory: its own pages and faults, checked and walked as ever, without HTTP and without a database. */

import { createDatasets, type DatasetOptions } from '../../model-api/datasets.ts';
import { jsonAnswer, listBody, type Paging } from '../../model-api/endpoints.ts';
import { applyFaults } from '../../model-api/fault-scripts.ts';
import { type Dataset, type FaultScript, seededRandom } from '../../model-api/index.ts';
import { loadJobs } from '../../src/job/load.ts';
import type { Job } from '../../src/job.ts';
import type { DiscoveredShape } from '../../src/validate/checked.ts';
import { checkPage, unknownShape } from '../../src/validate.ts';
import { type Checkpoint, PAGE_ROWS, type PageFacts, requestOf } from '../../src/walk/checkpoint.ts';
import { beginWalk, type Previous, takeStep, type WalkEnd } from '../../src/walk.ts';
import type { Edit } from './edits.ts';
import { datasetOf } from './mirror-bench.ts';

export type ListWalk = WalkEnd & {
  calls: number;
  checkpoint: Checkpoint;
  anomalies: Checkpoint['anomalies'];
  /** Keys of all rows that came, and of those that count as met. */
  received: Set<string>;
  met: Set<string>;
  /** Keys of rows upstream that did not come, and of those among them that were there when the walk began. */
  missing: string[];
  missed: string[];
};

export type List = {
  dataset: Dataset;
  /** These hold from the next walk on. */
  faults: readonly FaultScript[];
  /** Made before each answer. */
  beforeAnswer: Edit;
  /** One walk to its end; the edits are made just before these calls of it are answered, counted from 1. */
  walk(edits?: Readonly<Record<number, Edit>>): Promise<ListWalk>;
  /** Walks while nothing changes, until one has met all rows there are and no other; each is a proof. */
  converge(): Promise<void>;
};

type ListOptions = DatasetOptions & {
  faults?: readonly FaultScript[];
  /** Whether the first page may renew what the walk before proved. */
  renews?: boolean;
};

const jobs = await loadJobs();

export function openList(name: string, { faults = [], renews = false, ...options }: ListOptions = {}): List {
  const job = jobs.find((job) => job.name === name) as Job;
  const kind = datasetOf[name] as keyof ReturnType<typeof createDatasets>;
  const dataset = createDatasets(options)[kind];
  const random = seededRandom(1);
  const known = new Set<string>();
  // As an earlier walk has found it.
  let shape: DiscoveredShape = { ...unknownShape, key: [[dataset.idField]], hasLookedForKey: true };
  let previous: Previous | undefined;
  let calls = 0;

  const keysNow = () => dataset.rows.map((row) => String(row[dataset.idField]));

  function answer(offset: number) {
    const bodyAt = (paging: Paging) => listBody(kind, dataset, new URLSearchParams(), paging);
    const paging = { offset, limit: PAGE_ROWS };
    const request = {
      ...paging,
      ...{ number: calls, nth: calls, at: 0, endpoint: kind, method: 'GET', path: job.path },
      query: new URLSearchParams(),
    };
    const { body } = applyFaults(jsonAnswer(200, bodyAt(paging)), list.faults, { request, random, bodyAt });
    const text = JSON.stringify(body);
    return checkPage(job, { text: () => text }, JSON.parse(text), { shape, hints: {} });
  }

  const list: List = {
    dataset,
    faults,
    beforeAnswer: () => undefined,
    async walk(edits = {}) {
      const before = calls;
      const first = new Set(keysNow());
      const received = new Set<string>();
      const met = new Set<string>();
      const read = (offset: number): PageFacts => {
        calls += 1;
        edits[calls - before]?.(dataset);
        list.beforeAnswer(dataset);
        const page = answer(offset);
        shape = page.shape ?? shape;
        const keys = page.rows.map(({ key }) => key);
        const isIn = (among: ReadonlySet<string>) => keys.map((key) => key !== null && among.has(key));
        for (const key of keys) received.add(key as string);
        const digest = offset === 0 ? keys.join() : undefined;
        const doubled = keys.map(() => false);
        return {
          ...page,
          offset,
          keys,
          digest,
          met: isIn(met),
          known: isIn(known),
          doubled,
        };
      };
      let checkpoint = beginWalk(previous);
      let end: WalkEnd | undefined;
      while (!end) {
        const page = read(requestOf(checkpoint).offset);
        const step = takeStep(checkpoint, page, previous, 'walk');
        if (step.metRows === 'clear') met.clear();
        if (step.metRows === 'add') for (const key of page.keys) met.add(key as string);
        ({ checkpoint, end } = step);
      }
      if (end.verdict === 'snapshot') known.clear();
      for (const key of received) known.add(key);
      const allowsRenewal = renews && end.verdict === 'snapshot';
      previous = { checkpoint, allowsRenewal, isComplete: !end.stuck, glancedSince: 0 };
      const missing = keysNow().filter((key) => !received.has(key));
      const missed = missing.filter((key) => first.has(key));
      const { anomalies } = checkpoint;
      return { ...end, calls: calls - before, checkpoint, anomalies, received, met, missing, missed };
    },
    async converge() {
      list.faults = [];
      list.beforeAnswer = () => undefined;
      const { verdict, met } = await list.walk();
      if (verdict === 'union') throw new Error(`a walk of ${name} proves nothing though nothing changes`);
      const there = keysNow();
      if (met.size !== there.length || !there.every((key) => met.has(key)))
        throw new Error(`a walk of ${name} proves other rows than there are`);
    },
  };
  return list;
}
