/** The model API, edited all the time, and a journal of all that it ever showed. */

import { createHash } from 'node:crypto';
import {
  type Dataset,
  liveEdit,
  parseFaults,
  type Row,
  sampleKey,
  seededRandom,
  startModelApi,
} from '../../../model-api/index.ts';
import type { Job } from '../../../src/job.ts';
import { datasetOf } from '../../../test/helpers/mirror-bench.ts';
import { mirroredForm, upstreamForm } from '../../../test/helpers/truth.ts';

/** `row` is null where it goes; `at` in epoch milliseconds. */
export type Edit = { job: string; at: number; key: string; row: Row | null };

/** A row in the columns of its table, digested: two rows are alike where these are. */
export type Form = string;
export type Forms = ReadonlyMap<string, Form>;

export type Upstream = Awaited<ReturnType<typeof startUpstream>>;

const EDITS_EVERY_MS = 40;
const ROWS = { aiSignals: 230, news: 130, smartWallets: 60, memeSignals: 30 };

export async function startUpstream(jobs: readonly Job[], { key, seed }: { key: string; seed: number }) {
  const random = seededRandom(seed);
  const model = await startModelApi({
    rows: ROWS,
    seed,
    epoch: Date.now(),
    keys: [{ ...sampleKey, key }],
    keepCalls: 1_000,
  });
  const lists = jobs.flatMap((job) => {
    const name = datasetOf[job.name];
    return name ? [{ job, dataset: model.data[name] }] : [];
  });
  const journal = createJournal(lists.map(({ job }) => job));
  let edits = 0;
  let latest = Date.now();
  const note = (edit: Edit) => {
    edits += 1;
    journal.hear(edit);
  };
  const noteRow = ({ name }: Job, { idField }: Dataset, row: Row) =>
    note({ job: name, at: Date.now(), key: String(row[idField]), row });

  function edit(): void {
    const { job, dataset } = lists[Math.floor(random() * lists.length)] ?? noList();
    // No two states of a list bear the same time.
    latest = Math.max(Date.now(), latest + 1);
    const before = new Map(dataset.rows.map((row) => [row[dataset.idField], row]));
    liveEdit(dataset, random, latest);
    if (dataset.generatedAt !== undefined) dataset.generatedAt = new Date(latest).toISOString();
    for (const row of dataset.rows) {
      const id = row[dataset.idField];
      if (before.get(id) !== row) noteRow(job, dataset, row);
      before.delete(id);
    }
    for (const gone of before.keys()) note({ job: job.name, at: latest, key: String(gone), row: null });
  }

  for (const { job, dataset } of lists) {
    for (const row of dataset.rows) noteRow(job, dataset, row);
  }
  let editing = setInterval(edit, EDITS_EVERY_MS);
  return {
    url: model.url,
    /** The jobs that mirror its lists. */
    lists: lists.map(({ job }) => job),
    journal,
    rest: () => clearInterval(editing),
    edit() {
      clearInterval(editing);
      editing = setInterval(edit, EDITS_EVERY_MS);
    },
    /** @param faults as `model-api --faults` takes them. */
    faults(faults: string) {
      model.faults = parseFaults(faults);
    },
    /** Connections stay open, but no call is answered. @returns what answers them again. */
    pause(): () => void {
      let goOn = () => {};
      const paused = new Promise<void>((resolve) => {
        goOn = resolve;
      });
      model.beforeAnswer = () => paused;
      return () => {
        model.beforeAnswer = undefined;
        goOn();
      };
    },
    edits: () => edits,
    async close() {
      clearInterval(editing);
      await model.close();
    },
  };
}

function noList(): never {
  throw new Error('there is no list');
}

export type Journal = ReturnType<typeof createJournal>;

type Version = { at: number; form: Form | null };

export function createJournal(lists: readonly Job[]) {
  const versions = new Map(lists.map(({ name }) => [name, new Map<string, Version[]>()]));
  const byName = new Map(lists.map((job) => [job.name, job]));
  const of = (job: string) => versions.get(job) ?? new Map<string, Version[]>();

  return {
    hear({ job, at, key, row }: Edit): void {
      const declared = byName.get(job);
      if (!declared) return;
      const known = of(job).get(key) ?? [];
      of(job).set(key, known);
      known.push({ at, form: row && digest(upstreamForm(declared, row)) });
    },

    /** The rows as they stand. */
    now(job: string): Map<string, Form> {
      const latest = [...of(job)].map(([key, known]) => [key, known.at(-1)?.form ?? null] as const);
      return new Map(latest.filter((entry): entry is [string, Form] => entry[1] !== null));
    },

    wasEver: (job: string, key: string, form: Form) =>
      of(job)
        .get(key)
        ?.some((known) => known.form === form) ?? false,

    wasRemoved: (job: string, key: string) =>
      of(job)
        .get(key)
        ?.some((known) => known.form === null) ?? false,

    /**
     * The keys of rows that came or changed by `until` (epoch milliseconds) and are shown older, or not at all. A row that has gone since
     * may stay: it takes two proofs to remove it.
     */
    shownTooOld(job: string, shown: Forms, until: number): string[] {
      return [...of(job)]
        .filter(([key, known]) => {
          const due = known.findLastIndex(({ at }) => at <= until);
          if (due < 0) return false;
          const since = known.slice(due);
          return !since.some(({ form }) => form === null || form === shown.get(key));
        })
        .map(([key]) => key);
    },
  };
}

/** The form of a row that the mirror shows, whatever way it was read. */
export const formOf = (job: Job, row: Record<string, unknown>): Form => digest(mirroredForm(job, row));

export function digest(columns: Record<string, unknown>): Form {
  const entries = Object.entries(columns).sort(([one], [other]) => (one < other ? -1 : 1));
  return createHash('sha1').update(JSON.stringify(entries)).digest('base64');
}
