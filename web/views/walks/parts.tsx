/** How walks are told of, wherever they are. */

import type { ComponentChildren } from 'preact';
import type { PageCell, WalkMark } from '../../../src/serve/ui/wire.ts';
import { duration } from '../../formats.ts';
import { Cell } from '../../parts/cell.tsx';
import { outcomeOf, Verdict, waitReasons } from '../../parts/proof.tsx';
import type { TableColumn } from '../../parts/table.tsx';
import { Time } from '../../parts/time.tsx';
import { linkTo, usePlace } from '../../router.ts';
import { pathOf } from '../../routes.ts';

type Read = (column: string) => PageCell;

/** Columns that several tables have. */
export const jobColumn: TableColumn = {
  name: 'job',
  label: 'Dataset',
  show: (job) => <JobLink job={job} />,
};
export const walkColumn = (label: string): TableColumn => ({
  ...{ name: 'walk_id', label, kind: 'text' },
  show: (id) => <WalkLink id={id} />,
});
export const requestColumn: TableColumn = {
  ...{ name: 'request_id', label: 'X-Request-ID', kind: 'text' },
  show: (id) => <RequestLink id={id} />,
};
export const codeColumn = (name: string, label: string): TableColumn => ({
  ...{ name, label, kind: 'text' },
  show: (text) => <Code text={String(text)} />,
});
/** Of any text, with room for it. */
export const valueColumn = (name: string, label: string): TableColumn => ({
  ...{ name, label, kind: 'text' },
  show: (value) =>
    value === '' ? (
      '–'
    ) : (
      <div class="wide">
        <Cell value={value} label={label} />
      </div>
    ),
});

export function WalkLink({ id }: { id: PageCell }) {
  return id === null ? (
    <span class="null">none</span>
  ) : (
    <a href={linkTo(pathOf({ view: 'walk', id: Number(id) }))}>{String(id)}</a>
  );
}

export function JobLink({ job }: { job: PageCell }) {
  return (
    <a class="unbroken" href={linkTo(pathOf({ view: 'dataset', job: String(job) }))}>
      {String(job)}
    </a>
  );
}

/** The call or calls whose answer had it. */
export function RequestLink({ id }: { id: PageCell }) {
  if (id === null) return <>–</>;
  return (
    <a href={linkTo('/calls', { request: String(id) })}>
      <Code text={String(id)} />
    </a>
  );
}

/** Longer ones are broken where the column ends. */
const MOST_UNBROKEN = 44;

export function Code({ text }: { text: string }) {
  return <code class={text.length <= MOST_UNBROKEN ? 'unbroken' : 'long'}>{text}</code>;
}

/** A glance proves nothing, and is told apart from a walk that failed to. */
export function WalkOutcome({ read }: { read: Read }) {
  const status = read('status') as WalkMark['status'];
  if (read('kind') === 'glance' && status === 'complete')
    return (
      <span class="verdict" title="it looked at the head for new rows, and proves nothing">
        <span class="tag">glance</span>
      </span>
    );
  return (
    <span class="verdict">
      <Verdict outcome={outcomeOf({ status, verdict: read('verdict') as WalkMark['verdict'] })} />
      {read('kind') === 'glance' && <span class="tag">glance</span>}
    </span>
  );
}

/** What should be known of it: why it waits or failed, what was odd, whose proof it renewed. */
export function Remarks({ read }: { read: Read }) {
  const [error, renewalOf] = [read('error'), read('renewal_of')];
  // One that failed or ended waits for nothing, whatever it waited for before.
  const until = read('status') === 'waiting' ? read('waits_until') : null;
  const odd = anomaliesOf(read('anomalies'));
  const remarks: ComponentChildren[] = [];
  // Where it waits, that is all that its error says.
  if (error !== null && until === null) remarks.push(String(error));
  else if (odd.length > 0) remarks.push(odd.map(({ kind, times }) => `${kind} ×${times}`).join(', '));
  if (renewalOf !== null)
    remarks.push(
      <>
        nothing had changed since walk <WalkLink id={renewalOf} />: one call renewed its proof
      </>,
    );
  if (until !== null)
    remarks.push(
      <>
        waits until <Time at={String(until)} /> {waitReasons[String(read('waits_for'))] ?? 'for its turn'}
      </>,
    );
  if (remarks.length === 0) return <>–</>;
  return (
    <div class="wide">
      {remarks.map((remark, at) => (
        <span key={at}>
          {at > 0 && '; '}
          {remark}
        </span>
      ))}
    </div>
  );
}

/** What is meant by it where the past is shown. */
export function Past({ what }: { what: string }) {
  const { at } = usePlace();
  return at === null ? null : <p class="note">{what}</p>;
}

export function tookOf(begun: unknown, ended: unknown): string {
  if (ended === null) return '–';
  return duration((Date.parse(String(ended)) - Date.parse(String(begun))) / 1_000);
}

type Found = { kind: string; times: number };

/** The API's own words for them, told to those who have not read the manual. */
export const meanings: Readonly<Record<string, string>> = {
  offset: 'a page was of another offset than was asked for',
  returned: 'a page held other than as many rows as it said',
  repeat: 'a page held one row twice',
  backwards: 'the snapshot was older than the one before it',
  stuck: 'page after page brought nothing new',
  'inferred-end': 'the API did not say where the dataset ends',
};

/** What was odd in a walk, out of the JSON that it is kept as. */
export function anomaliesOf(json: PageCell): Found[] {
  try {
    const found = JSON.parse(String(json ?? '{}')) as Record<string, unknown>;
    return Object.entries(found).map(([kind, times]) => ({ kind, times: Number(times) }));
  } catch {
    return [];
  }
}
