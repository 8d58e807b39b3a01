/** What `/mirror/v1/datasets` tells of a dataset: its columns, what they mean, and how fresh it is. */

import { ageOf } from '../../clock.ts';
import type { Schema } from '../../job-list.ts';
import type { DatasetState } from './read.ts';
import type { Column, ListJob } from './sql.ts';

export function describeDataset(job: ListJob, columns: readonly Column[], state: DatasetState, now: number) {
  const { completeAsOf } = state;
  const age = completeAsOf === null ? null : ageOf(Date.parse(completeAsOf), now);
  const specified = new Map(job.schemas ? membersOf(job.schemas.row, []) : []);
  return {
    dataset: job.table,
    job: job.name,
    about: job.about,
    columns: columns.map(({ name, kind, path }) => ({
      name,
      type: kind === 'mixed' ? 'any' : kind,
      about:
        ownColumns[name] ?? specified.get(name) ?? (path === null ? '' : `\`${path.replace(/^\$\.?/, '')}\``),
    })),
    verdict: state.readSeq === null ? null : state.verdict,
    completeAsOf: age === null ? null : completeAsOf,
    ageSeconds: age === null ? null : Math.floor(age / 1_000),
    held: state.held,
    seq: state.seq,
    historyFrom: state.historyFrom,
  };
}

/** By the names of their columns. */
function membersOf({ properties = {} }: Schema, path: readonly string[]): [string, string][] {
  return Object.entries(properties).flatMap(([name, given]): [string, string][] => {
    const schema = given.anyOf?.find(({ type }) => type !== 'null') ?? given;
    const here = [...path, name];
    const column = here
      .map((part) => part.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`))
      .join('_');
    const about = `\`${here.join('.')}\`${schema['description'] === undefined ? '' : `: ${schema['description']}`}`;
    return [[column, about], ...membersOf(schema, here)];
  });
}

const ownColumns: Readonly<Record<string, string>> = {
  _key: "The row's key.",
  _first_seen_at: 'When the mirror first found a row of this key.',
  _changed_at: 'When this version came into the mirror.',
  _walk_id: 'The walk that brought this version.',
  _held_since: 'Since when proofs have not shown the row; null of all rows that the last one showed.',
  _held_reason: 'Why such a row stays: `unproven`, `mass` or `unkeyed`.',
  _body: 'The row as received.',
  extra: 'Properties that the contract does not list.',
};
