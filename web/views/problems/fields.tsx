/** The fields of datasets whose rows are not specified, as they were discovered. */

import type { PageCell } from '../../../src/serve/ui/wire.ts';
import { Cell } from '../../parts/cell.tsx';
import type { TableColumn } from '../../parts/table.tsx';
import { usePlace } from '../../router.ts';
import { select } from '../../sql.ts';
import { equal, within } from '../browsing/filters.tsx';
import { Code, JobLink, WalkLink } from '../walks/parts.tsx';
import { Whole } from './whole.tsx';

const columns = [
  ...['job', 'column', 'path', 'types', 'nullable', 'example', 'first_seen_at', 'last_seen_at', 'walk_id'],
];

const shown: Record<string, Partial<TableColumn>> = {
  job: { label: 'Dataset', show: (job) => <JobLink job={job} /> },
  column: { label: 'Column', kind: 'text', show: (column) => <Code text={String(column)} /> },
  path: { label: 'Place', kind: 'text', show: (path) => <Code text={String(path)} /> },
  types: { label: 'Types', kind: 'text', show: (types) => <span class="unbroken">{typesOf(types)}</span> },
  nullable: { label: 'May be null', kind: 'text', show: (nullable) => (nullable === 1 ? 'yes' : 'no') },
  example: {
    label: 'Example',
    kind: 'text',
    show: (example) => (
      <div class="wide">
        <Cell value={example} label="Example" />
      </div>
    ),
  },
  first_seen_at: { label: 'First seen' },
  last_seen_at: { label: 'Last seen' },
  walk_id: { label: 'Last in walk', kind: 'text', show: (id) => <WalkLink id={id} /> },
};

export function Fields() {
  const { search, at } = usePlace();
  const sql = select({
    columns,
    from: 'fields',
    where: [...equal('job', search.get('job')), ...within('first_seen_at', new URLSearchParams(), at)],
    order: [{ column: 'first_seen_at', descending: true }, { column: 'job' }, { column: 'column' }],
  });
  return (
    <Whole
      id="fields"
      title="Discovered fields"
      caption="Fields"
      note="of datasets whose rows are not specified; each is a column of its table"
      unit="field"
      sql={sql}
      columns={columns.map((name) => ({ name, ...shown[name] }))}
      empty="None: all rows here are as they were specified."
    />
  );
}

function typesOf(json: PageCell): string {
  try {
    const types = JSON.parse(String(json)) as unknown[];
    return types.length === 0 ? 'only null so far' : types.map(String).join(', ');
  } catch {
    return String(json);
  }
}
