/** What the columns of a dataset mean, in Markdown: by the contract of its job, and by the mirror where the column is its own. */

import { ageOf } from '../../base/clock.ts';
import { propertiesOf } from '../../base/properties.ts';
import type { ListedJob, Schema } from '../../job/list.ts';
import type { DatasetState } from './mirror-v1/read.ts';
import type { Column, ListDataset } from './mirror-v1/sql.ts';

/** Columns that mean the same in every dataset that has them. */
export const sharedMeanings: Readonly<Record<string, string>> = {
  _key: "The row's key: the declared one, else the value of the field or fields that identify the rows of its list, else a digest of the row.",
  _first_seen_at: 'When the mirror first found a row of this key.',
  _changed_at: 'When this version came into the mirror.',
  _walk_id: 'The walk that brought this version (`walks.id`).',
  _held_since:
    'When the first of the latest proofs that did not show the row ended. Null unless the row is missing from the last proof.',
  _held_reason:
    'Why such a row stays for now. `unproven`: the list is `verified`, so a row may be hidden as others move; the next proof that does not show it either removes it. `mass`: the list is shorter by more than a fifth and ten rows, or empty; the next proof decides. `unkeyed`: rows without a readable key came, so it may be one of them; the third proof in a row that does not show it removes it, or the next one that meets no such row.',
  _valid_from: 'From when the mirror held this version: its `_changed_at`.',
  _valid_to: 'Until when: the `_changed_at` of the next version, or when the row was removed.',
  _ended_by: '`update` or `delete`.',
  _body: 'The JSON as received, but names without needless escapes (`id` for `\\u0069d`).',
  _fetched_at: 'When it was requested.',
  extra: 'JSON of the properties that the contract does not list, at their places. Null if there are none.',
};

/** By column: a property and the rule that its contract gives. Empty for a dataset without a contract. */
export function meaningsOf({
  schemas,
  volatile,
}: Pick<ListedJob, 'schemas' | 'volatile'>): Map<string, string> {
  const meanings = new Map<string, string>();
  if (!schemas) return meanings;
  for (const { column, path, description, value } of propertiesOf(schemas.row)) {
    const rule = [description, ruleOf(value)].filter(Boolean).join('; ');
    meanings.set(column, `\`${path.join('.')}\`${rule && `: ${rule}`}`);
  }
  for (const column of volatile)
    meanings.set(column, `${meanings.get(column)}; volatile: kept current, but makes no version`);
  return meanings;
}

function ruleOf({ type, enum: values, minimum, maximum, items }: Schema): string {
  const kinds = [type].flat();
  if (Array.isArray(values)) return values.map((value) => `\`${value}\``).join(', ');
  if (kinds.includes('boolean')) return '0 or 1';
  if (kinds.includes('array')) return `JSON array of ${items?.type === 'string' ? 'text' : 'values'}`;
  if (kinds.includes('object')) return 'JSON object';
  const bounds = [
    minimum !== undefined && `at least ${minimum}`,
    maximum !== undefined && `at most ${maximum}`,
  ];
  return bounds.filter(Boolean).join(', ');
}

/** What `/mirror/v1/datasets` says of a dataset. @param views over it that can be asked in the same way. */
export function describeDataset(
  job: ListDataset,
  columns: readonly Column[],
  views: readonly string[],
  state: DatasetState,
  now: number,
) {
  const { completeAsOf } = state;
  const age = completeAsOf === null ? null : ageOf(Date.parse(completeAsOf), now);
  const meanings = new Map(Object.entries(sharedMeanings));
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
    views,
    verdict: state.readSeq === null ? null : state.verdict,
    complete_as_of: age === null ? null : completeAsOf,
    age_seconds: age === null ? null : Math.floor(age / 1_000),
    held: state.held,
    seq: state.seq,
    history_from: state.historyFrom,
  };
}
