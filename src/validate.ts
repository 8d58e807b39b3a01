/** A response of the API as rows that fit, rows that do not, and what is new about them. */

import type { Job } from './job.ts';
import { checkDiscovered, chooseKeyField, digestOf, type KeyField } from './validate/discovered.ts';
import { type Envelope, readEnvelope } from './validate/envelope.ts';
import { mayHoldHostileText } from './validate/hostile.ts';
import { sliceRows } from './validate/raw.ts';
import { checkSpecified } from './validate/specified.ts';
import type { AcceptedRow, CheckedRow, Drift, RefusedRow } from './validate/types.ts';

export type { Pagination } from './validate/envelope.ts';
export type { AcceptedRow, Drift, DriftKind, Problem, RefusedRow } from './validate/types.ts';

/** How a dataset whose shape is not specified is read; chosen once, then held to. */
export type Choice = { rowsPath: string; keyField: KeyField };

export type CheckedPage = Pick<Envelope, 'pagination' | 'generatedAt'> & {
  /** How many rows came, whatever became of them. */
  received: number;
  /** The key of each row in the order of the page; null where a refused row shows none. */
  keys: (string | null)[];
  /** One row a key: where a page repeats a key, its last row. */
  accepted: AcceptedRow[];
  refused: RefusedRow[];
  drifts: Drift[];
  /** The choice that this page was read by; undefined for a specified dataset and before the first row. */
  choice: Choice | undefined;
};

/**
 * @param known the choice made for this dataset before, if it needs one.
 * @throws Failure `contract` where the envelope is broken.
 */
export function checkPage(job: Job, text: string, json: unknown, known: Choice | undefined): CheckedPage {
  const envelope = readEnvelope(job, json, known?.rowsPath);
  const { rows, rowsPath, pagination, generatedAt } = envelope;
  const choice =
    job.contract || rows.length === 0 ? known : (known ?? { rowsPath, keyField: chooseKeyField(rows) });
  const slices = once(() => sliceRows(text, rowsPath));
  const check = rowChecker(job, choice, mayHoldHostileText(text));
  const accepted = new Map<string, AcceptedRow>();
  const refused: RefusedRow[] = [];
  const keys: (string | null)[] = [];
  const drifts = createTally(envelope.drifts);

  rows.forEach((row, at) => {
    const body = () => slices()[at] ?? JSON.stringify(row);
    const checked = check(row, body);
    if (checked.fits) {
      const key = job.contract ? checked.key : distinctKey(checked, accepted, row);
      if (key !== checked.key)
        drifts.add({ kind: 'contradicted-key', path: choice?.keyField ?? '', detail: '', times: 1 });
      for (const drift of checked.drifts) drifts.add(drift);
      accepted.set(key, { key, values: checked.values });
      keys.push(key);
    } else {
      refused.push({ key: checked.key, body: body(), problems: checked.problems });
      keys.push(checked.key);
    }
  });
  return {
    pagination,
    generatedAt,
    received: rows.length,
    keys,
    accepted: [...accepted.values()],
    refused,
    drifts: drifts.all(),
    choice,
  };
}

function rowChecker(job: Job, choice: Choice | undefined, suspicious: boolean) {
  const { contract } = job;
  return (row: unknown, body: () => string): CheckedRow =>
    contract
      ? checkSpecified(contract, row, suspicious)
      : checkDiscovered(row, choice?.keyField ?? null, body);
}

// Two different rows under one key contradict the choice of that key; both are kept.
function distinctKey({ key, values }: AcceptedRow, accepted: Map<string, AcceptedRow>, row: unknown): string {
  const earlier = accepted.get(key);
  return earlier && earlier.values['_body'] !== values['_body'] ? `${key}#${digestOf(row)}` : key;
}

function createTally(first: Drift[]) {
  const found = new Map<string, Drift>();
  const add = (drift: Drift) => {
    const id = `${drift.kind} ${drift.path} ${drift.detail}`;
    found.set(id, { ...drift, times: (found.get(id)?.times ?? 0) + drift.times });
  };
  first.forEach(add);
  return { add, all: () => [...found.values()] };
}

function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}
