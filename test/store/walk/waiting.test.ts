import { expect, it, onTestFinished } from 'vitest';
import type { Call, CheckedRows } from '../../../src/page.ts';
import { beginning, type Met } from '../../../src/walk/checkpoint.ts';
import { change } from '../../helpers/edits.ts';
import { setup } from '../../helpers/setup.ts';

const call: Call = {
  at: '2026-11-21T12:00:00.000Z',
  job: 'news',
  walkId: null,
  url: '/',
  status: 200,
  ms: 1,
  bytes: 1,
  requestId: null,
  rateLimit: null,
  rateRemaining: null,
  errorCode: null,
};

/** A page of the news, of these rows of the API. */
function pageOf(...rows: readonly (Record<string, unknown> | undefined)[]): CheckedRows {
  const keys = rows.map((row) => String(row?.['id']));
  const accepted = rows.map((row) => ({ key: String(row?.['id']), values: { _body: JSON.stringify(row) } }));
  return { keys, accepted, refused: [], drifts: [], fields: { rows: 0, fields: [] } };
}

it.each<Met>(['add', 'skip'])(
  'a look-up says the same of a page whether the one before it waits or is committed, where its rows are met by "%s"',
  async (met) => {
    const bench = await setup({ rows: 4 });
    await bench.mirror('news');
    const { rows, make } = bench.upstream('news');
    change(1, { headline: 'corrected' })(bench.upstream('news'));
    const [fresh, unmet] = make(2);
    const session = bench.store.openWalk(bench.job('news'));
    onTestFinished(() => session.release());
    const first = pageOf(rows[0], rows[1], fresh);
    const second = pageOf(rows[0], rows[1], fresh, rows[2], unmet);
    session.lookUp(first);
    session.savePage({
      page: { ...first, call },
      checkpoint: { ...beginning, pages: 1 },
      met,
    });
    const waiting = session.lookUp(second);
    session.commit();
    expect(waiting).toEqual(session.lookUp(second));
    expect(waiting.known).toEqual([true, false, false, true, false]);
    expect(waiting.seen).toEqual([true, true, true, false, false].map((seen) => seen && met === 'add'));
  },
);
