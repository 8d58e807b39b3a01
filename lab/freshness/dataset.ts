/** A dataset upstream, as an API would show it: rows that come, change and go at random times. Times in milliseconds. */

import { DAY_MS, type Random } from '../../src/clock.ts';
import type { Kind, Measures } from './measures.ts';
import type { Row } from './row.ts';

export type Spec = {
  name: string;
  /** What its schedule asks for, and how much it counts. */
  targetMs: number;
  weight: number;
  rows: number;
  newPerDay: number;
  newAt: Place;
  /** A row that comes pushes the oldest one out. */
  expires: boolean;
  /** Part of the new rows that are changed once more, within so long. */
  editShare: number;
  editWithinMs: number;
  /** Any row, anywhere. */
  gonePerDay: number;
  editsPerDay: number;
  /** A changed row moves to another place. */
  editsMove: boolean;
  /** All that changes comes at once, and the list says when: `generatedAt`. */
  published: { everyMs: number; newRows: number; editedRows: number } | undefined;
  /** So many rows stay at the head. */
  pinned: number;
  /** From then on new rows come at the other end. */
  turnsAt: number;
  /** Then two rows of five go at once. */
  purgedAt: number;
};

export type Place = 'head' | 'tail' | 'anywhere';

export type Dataset = {
  readonly spec: Spec;
  readonly rows: readonly Row[];
  readonly generatedAt: string | undefined;
  /** Lets time pass: whatever is due by then happens. */
  advance(to: number): void;
  /** Told of each change, for those who know all. */
  onChange: ((kind: Kind, row: Row, index: number) => void) | undefined;
};

const PURGED_PART = 0.4;

export function createDataset(spec: Spec, random: Random, begin: number, measures: Measures): Dataset {
  const { published, pinned } = spec;
  const rows: Row[] = [];
  /** Changes of new rows to come, the soonest first. */
  const planned: { at: number; row: Row }[] = [];
  const after = (perDay: number, now: number) =>
    perDay > 0 ? now - Math.log(1 - random()) * (DAY_MS / perDay) : Number.POSITIVE_INFINITY;
  const due = {
    new: after(spec.newPerDay, begin),
    gone: after(spec.gonePerDay, begin),
    edit: after(spec.editsPerDay, begin),
    publish: published ? begin + random() * published.everyMs : Number.POSITIVE_INFINITY,
    purge: spec.purgedAt,
  };
  let made = 0;
  let generatedAt = published && new Date(begin).toISOString();

  const dataset: Dataset = {
    spec,
    rows,
    get generatedAt() {
      return generatedAt;
    },
    onChange: undefined,
    advance(to) {
      for (let at = soonest(); at <= to; at = soonest()) {
        measures.count(rows.length, at);
        happen(at);
      }
      measures.count(rows.length, to);
    },
  };
  while (rows.length < spec.rows) rows.push(make(begin));
  return dataset;

  function soonest(): number {
    const next = Math.min(due.new, due.gone, due.edit, due.publish, due.purge);
    return Math.min(next, planned[0]?.at ?? Number.POSITIVE_INFINITY);
  }

  function happen(at: number): void {
    const [next] = planned;
    if (next?.at === at) {
      planned.shift();
      edit(rows.indexOf(next.row), at);
    } else if (due.new === at) {
      insert(at);
      due.new = after(spec.newPerDay, at);
    } else if (due.gone === at) {
      remove(anyRow(), at);
      due.gone = after(spec.gonePerDay, at);
    } else if (due.edit === at) {
      editAny(at);
      due.edit = after(spec.editsPerDay, at);
    } else if (due.publish === at) {
      publish(at);
    } else {
      for (let left = Math.floor(rows.length * PURGED_PART); left > 0; left -= 1) remove(anyRow(), at);
      due.purge = Number.POSITIVE_INFINITY;
    }
  }

  function make(at: number): Row {
    made += 1;
    const copy = { isHeld: false, changedIn: 0, metIn: 0 };
    return { key: `${spec.name} ${made}`, cameAt: at, goneAt: Number.POSITIVE_INFINITY, unread: [], copy };
  }

  function below(count: number): number {
    return Math.floor(random() * count);
  }

  function anyRow(): number {
    return pinned + below(rows.length - pinned);
  }

  function placeAt(now: number): Place {
    if (now < spec.turnsAt || spec.newAt === 'anywhere') return spec.newAt;
    return spec.newAt === 'head' ? 'tail' : 'head';
  }

  function insert(at: number): void {
    const row = make(at);
    const place = placeAt(at);
    const index = { head: pinned, tail: rows.length, anywhere: below(rows.length + 1) }[place];
    rows.splice(index, 0, row);
    dataset.onChange?.('new', row, index);
    if (random() < spec.editShare) plan(row, at + random() * spec.editWithinMs);
    if (spec.expires && rows.length > spec.rows) remove(place === 'tail' ? pinned : rows.length - 1, at);
  }

  function plan(row: Row, at: number): void {
    const later = planned.findIndex((other) => other.at > at);
    planned.splice(later < 0 ? planned.length : later, 0, { at, row });
  }

  function edit(index: number, at: number): void {
    const row = rows[index];
    if (!row) return;
    row.unread.push(at);
    dataset.onChange?.('edited', row, index);
  }

  function editAny(at: number): void {
    const index = anyRow();
    edit(index, at);
    if (spec.editsMove) rows.splice(below(rows.length), 0, ...rows.splice(index, 1));
  }

  function remove(index: number, at: number): void {
    const [row] = rows.splice(index, 1);
    if (!row) return;
    row.goneAt = at;
    measures.left(row);
    row.unread = [];
    dataset.onChange?.('gone', row, index);
  }

  function publish(at: number): void {
    if (!published) return;
    generatedAt = new Date(at).toISOString();
    due.publish = at + published.everyMs;
    for (let left = published.editedRows; left > 0; left -= 1) editAny(at);
    for (let left = published.newRows; left > 0; left -= 1) insert(at);
  }
}
