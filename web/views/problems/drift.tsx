/** Differences between what the contract or earlier rows say and what came. */

import { Cell } from '../../parts/cell.tsx';
import type { TableColumn } from '../../parts/table.tsx';
import { usePlace } from '../../router.ts';
import { select } from '../../sql.ts';
import { equal, within } from '../browsing/filters.tsx';
import { Code, JobLink, RequestLink, WalkLink } from '../walks/parts.tsx';
import { Whole } from './whole.tsx';

const columns = [
  'job',
  'kind',
  'path',
  'detail',
  'times',
  'first_seen_at',
  'last_seen_at',
  'walk_id',
  'request_id',
];

export const meanings: Readonly<Record<string, string>> = {
  'extra-property': 'a property that the contract does not know',
  'new-value': 'a value that the contract does not list',
  'out-of-range': 'a number outside the range of the contract',
  'new-field': 'a field that the first whole walk did not find',
  'vanished-field': 'a field that the last whole walk did not find',
  'new-type': 'a type that the field did not have before',
  'no-column': 'a field that has no column of its own',
  'repeated-name': 'an object had two members of one name',
  'contradicted-key': 'the key that was chosen does not tell rows apart',
  more: 'all above the 1,000 that are told one by one',
};

const shown: Record<string, Partial<TableColumn>> = {
  job: { label: 'Dataset', show: (job) => <JobLink job={job} /> },
  kind: {
    label: 'Difference',
    show: (kind) => (
      <div class="wide">
        <Code text={String(kind)} /> <span class="note">{meanings[String(kind)]}</span>
      </div>
    ),
  },
  path: { label: 'Place', kind: 'text', show: (path) => <Code text={String(path)} /> },
  detail: {
    label: 'What came',
    kind: 'text',
    show: (detail) =>
      detail === '' ? (
        '–'
      ) : (
        <div class="wide">
          <Cell value={detail} label="What came" />
        </div>
      ),
  },
  times: { label: 'Times' },
  first_seen_at: { label: 'First seen' },
  last_seen_at: { label: 'Last seen' },
  walk_id: { label: 'First in walk', kind: 'text', show: (id) => <WalkLink id={id} /> },
  request_id: {
    label: 'X-Request-ID',
    kind: 'text',
    show: (id) => <RequestLink id={id} />,
  },
};

export function Drift() {
  const { search, at } = usePlace();
  const sql = select({
    columns,
    from: 'drift',
    where: [...equal('job', search.get('job')), ...within('first_seen_at', new URLSearchParams(), at)],
    order: [{ column: 'last_seen_at', descending: true }],
  });
  return (
    <Whole
      id="drift"
      title="Drift"
      caption="Differences"
      note="differences from what the contract or earlier rows say; the rows are kept all the same"
      unit="difference"
      sql={sql}
      columns={columns.map((name) => ({ name, ...shown[name] }))}
      empty="Everything is as it was expected."
    />
  );
}
