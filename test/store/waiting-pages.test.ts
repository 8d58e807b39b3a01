import { expect, it, onTestFinished } from 'vitest';
import type { Call } from '../../src/api/response.ts';
import type { CheckedRows } from '../../src/validate/checked.ts';
import { beginning, type MetRowsChange } from '../../src/walk/checkpoint.ts';
import { change } from '../helpers/edits.ts';
import { setup } from '../helpers/setup.ts';

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

it.each<MetRowsChange>(['add', 'skip'])(
  'a look-up says the same of a page whether the one before it waits or is committed, where its rows are met by "%s"',
  async (metRows) => {
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
      metRows,
    });
    const waiting = session.lookUp(second);
    session.commit();
    expect(waiting).toEqual(session.lookUp(second));
    expect(waiting.known).toEqual([true, false, false, true, false]);
    expect(waiting.met).toEqual([true, true, true, false, false].map((met) => met && metRows === 'add'));
  },
);

it('a row that has changed is written, though a page that showed it unchanged waits for the same commit', async () => {
  const bench = await setup({ rows: 2 });
  await bench.mirror('news');
  const session = bench.store.openWalk(bench.job('news'));
  onTestFinished(() => session.release());
  const save = (page: CheckedRows, pages: number) => {
    const found = session.lookUp(page);
    session.savePage({ page: { ...page, call }, checkpoint: { ...beginning, pages }, metRows: 'add' });
    return found;
  };
  const [row, other] = bench.upstream('news').rows;
  save(pageOf(row, other), 1);
  const corrected = { ...row, headline: 'corrected' };
  expect(save(pageOf(corrected), 2)).toEqual({ met: [true], known: [true] });
  session.commit();
  expect(bench.sql(`SELECT headline FROM news WHERE _key = '${row?.['id']}'`)).toEqual([
    { headline: 'corrected' },
  ]);
  expect(session.row).toMatchObject({ updated: 1, distinctKeys: 2 });
});

it('a row that is refused is known to have been met, though the page that showed it unchanged waits', async () => {
  const bench = await setup({ rows: 2 });
  await bench.mirror('news');
  const session = bench.store.openWalk(bench.job('news'));
  onTestFinished(() => session.release());
  const page = pageOf(bench.upstream('news').rows[0]);
  session.lookUp(page);
  session.savePage({ page: { ...page, call }, checkpoint: { ...beginning, pages: 1 }, metRows: 'add' });
  const [key = ''] = page.keys;
  const refused = [{ key, identity: String(key), body: '{}', problems: [] }];
  expect(session.lookUp({ ...page, accepted: [], refused })).toEqual({ met: [true], known: [true] });
});
