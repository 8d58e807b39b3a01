/** The API as the campaign knows it: a process to give orders to, and a journal of all that it ever showed. */

import { createHash } from 'node:crypto';
import type { Row } from '../../../model-api/index.ts';
import type { Job } from '../../../src/job.ts';
import { datasetOf } from '../../../test/helpers/mirror-bench.ts';
import { mirroredForm, upstreamForm } from '../../../test/helpers/truth.ts';
import { startOrdered } from './processes.ts';

/** `row` is null where it goes; `at` in epoch milliseconds. */
export type Edit = { job: string; at: number; key: string; row: Row | null };
/** `faults` as `model-api --faults` takes them. */
export type Order = { edit: boolean; faults: string };

/** A row in the columns of its table, digested: two rows are alike where these are. */
export type Form = string;
export type Forms = ReadonlyMap<string, Form>;

export type Upstream = Awaited<ReturnType<typeof startUpstream>>;

/** @param mark the file that values try to create, by any shell that they reach. */
export async function startUpstream(
  jobs: readonly Job[],
  { key, mark, seed }: { key: string; mark: string; seed: number },
) {
  const lists = jobs.filter(({ name }) => name in datasetOf);
  const journal = createJournal(lists);
  let edits = 0;
  const api = await startOrdered<string, Order, Edit>(
    'upstream-process.ts',
    [key, mark, String(seed)],
    (edit) => {
      edits += 1;
      journal.hear(edit);
    },
  );
  let now: Order = { edit: true, faults: '' };
  const order = async (wanted: Partial<Order>) => {
    now = { ...now, ...wanted };
    await api.order(now);
  };
  return {
    url: api.ready,
    pid: api.pid,
    /** The jobs that mirror its lists. */
    lists,
    /** Stops the edits; resolves when all are in the journal. */
    rest: () => order({ edit: false }),
    edit: () => order({ edit: true }),
    faults: (faults: string) => order({ faults }),
    journal,
    /** Resolves when the journal has all edits that were made until now. */
    heard: () => order({}),
    edits: () => edits,
    close: api.close,
  };
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

function digest(columns: Record<string, unknown>): Form {
  const entries = Object.entries(columns).sort(([one], [other]) => (one < other ? -1 : 1));
  return createHash('sha1').update(JSON.stringify(entries)).digest('base64');
}
