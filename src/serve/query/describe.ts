/** What `/mirror/v1/datasets` says of a dataset: its columns, what they mean, and how fresh it is. */

import { ageOf } from '../../clock.ts';
import { propertiesOf } from '../../properties.ts';
import type { DatasetState } from './read.ts';
import type { Column, ListJob } from './sql.ts';

export function describeDataset(job: ListJob, columns: readonly Column[], state: DatasetState, now: number) {
  const { completeAsOf } = state;
  const age = completeAsOf === null ? null : ageOf(Date.parse(completeAsOf), now);
  const meanings = new Map(ownColumns);
  for (const { column, path, description } of job.schemas ? propertiesOf(job.schemas.row) : [])
    meanings.set(column, `\`${path.join('.')}\`${description === undefined ? '' : `: ${description}`}`);
  return {
    dataset: job.table,
    job: job.name,
    about: job.about,
    columns: columns.map(({ name, kind, path }) => ({
      name,
      type: kind === 'mixed' ? 'any' : kind,
      about: path === null ? (meanings.get(name) ?? '') : `\`${path.replace(/^\$\.?/, '')}\``,
    })),
    verdict: state.readSeq === null ? null : state.verdict,
    complete_as_of: age === null ? null : completeAsOf,
    age_seconds: age === null ? null : Math.floor(age / 1_000),
    held: state.held,
    seq: state.seq,
    history_from: state.historyFrom,
  };
}

const ownColumns: ReadonlyMap<string, string> = new Map([
  ['_key', "The row's key."],
  ['_first_seen_at', 'When the mirror first found a row of this key.'],
  ['_changed_at', 'When this version came into the mirror.'],
  ['_walk_id', 'The walk that brought this version.'],
  ['_held_since', 'Since when proofs have not shown the row; null of all rows that the last one showed.'],
  ['_held_reason', 'Why such a row stays: `unproven`, `mass` or `unkeyed`.'],
  ['_body', 'The row as received.'],
  ['extra', 'Properties that the contract does not list.'],
]);
