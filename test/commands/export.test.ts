import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';
import { describe, expect, it } from 'vitest';
import { isoTime } from '../../src/base/clock.ts';
import { exportCommand } from '../../src/commands/export.ts';
import type { Receipt } from '../../src/reading/export.ts';
import { runMain } from '../helpers/main.ts';
import { setup } from '../helpers/setup.ts';
import { ndjson, onTerminal, publish } from '../reading/support.ts';

/** A mirror with a folder to export into, and the command. */
async function ready(rows = 3) {
  const bench = await setup({ rows, walked: ['ai-signals'] });
  const folder = join(bench.dir, 'out');
  mkdirSync(folder);
  const run = (...args: string[]) => runMain(['export', ...args], { MIRROR_DIR: bench.dir }, bench.clock);
  const lines = async (...args: string[]) => ndjson((await run(...args, '--format', 'ndjson')).stdout);
  const place = (name: string) => join(folder, name);
  const receiptOf = (name: string) => JSON.parse(readFileSync(place(`${name}.meta.json`), 'utf8')) as Receipt;
  const signals = bench.upstream('ai-signals');
  const walk = async (edit: () => void = () => undefined) => {
    edit();
    publish(bench);
    await bench.mirror('ai-signals');
  };
  const close = () => void Object.assign(signals.rows[0] ?? {}, { status: 'closed' });
  return {
    ...{ bench, folder, run, lines, place, receiptOf, signals, walk, close },
    left: () => readdirSync(folder).sort(),
  };
}

const lists = ['validator_reason_codes', 'quality_checks', 'dual_ai', 'extra'];
const booleans = ['validator_allowed', 'quality_publishable'];

/** A row of ai_signals as JSON has it: lists, objects and booleans as such. */
const inJson = (row: Record<string, unknown>) =>
  Object.fromEntries(
    Object.entries(row).map(([name, value]) => {
      if (value === null) return [name, null];
      if (lists.includes(name)) return [name, JSON.parse(String(value))];
      return [name, booleans.includes(name) ? value === 1 : value];
    }),
  );

describe('a dataset', () => {
  it('is written in the form that its file is named for, every row of it; to standard output where none is named', async () => {
    const { bench, run, place, left } = await ready(30);
    const rows = bench.sql('SELECT * FROM ai_signals');
    const names = ['a.csv', 'a.json', 'a.ndjson', 'a.parquet'];
    for (const name of names)
      expect(await run('ai-signals', '-o', place(name))).toMatchObject({ code: 0, stdout: '' });
    expect(ndjson(readFileSync(place('a.ndjson'), 'utf8'))).toEqual(rows.map(inJson));
    expect(JSON.parse(readFileSync(place('a.json'), 'utf8'))).toEqual(rows.map(inJson));
    expect(readFileSync(place('a.csv'), 'utf8').split('\n')).toHaveLength(rows.length + 2);
    const parquet = await parquetReadObjects({ file: await asyncBufferFromFile(place('a.parquet')) });
    expect(parquet.map(({ id, timestamp, confidence }) => ({ id, timestamp, confidence }))).toEqual(
      rows.map(({ id, timestamp, confidence }) => ({
        ...{ id, confidence },
        timestamp: new Date(String(timestamp)),
      })),
    );
    expect(left()).toEqual(names.flatMap((name) => [name, `${name}.meta.json`]));
    const printed = await run('ai-signals', '--format', 'ndjson', '-o', '-');
    expect(printed).toEqual({ code: 0, stdout: readFileSync(place('a.ndjson'), 'utf8'), stderr: '' });
  });

  it('has the body of its rows only with --with-body', async () => {
    const { bench, run, lines } = await ready();
    await bench.mirror('news');
    const all = Object.keys(bench.sql('SELECT * FROM news LIMIT 1')[0] ?? {});
    const [row = {}, whole = {}] = [...(await lines('news')), ...(await lines('news', '--with-body'))].filter(
      (_, at) => at % 3 === 0,
    );
    expect([Object.keys(row), Object.keys(whole)]).toEqual([all.filter((name) => name !== '_body'), all]);
    expect(whole['_body']).toMatchObject({ symbols: whole['symbols'] });
    expect(Array.isArray(whole['symbols'])).toBe(true);
    expect(Object.keys((await lines('news', '--since', '0'))[0] ?? {})).not.toContain('_body');
    expect((await run('SELECT 1', '--with-body')).code).toBe(64);
  });

  it('can be a table, a view, or any answer; and as it stood then, with --as-of', async () => {
    const { run, lines, bench, place, receiptOf, signals, walk } = await ready();
    expect(await lines('ai_signals')).toHaveLength(3);
    expect(await lines('ai_signal_checks')).toEqual(bench.sql('SELECT * FROM ai_signal_checks'));
    const sql = 'SELECT :n AS n, count(*) AS rows FROM ai_signals';
    expect(await lines(sql, '--param', 'n:=7')).toEqual([{ n: 7, rows: 3 }]);
    const piped = await onTerminal(exportCommand, [], bench, { stdin: 'SELECT 1 AS one' });
    expect(piped.stdout).toBe('one\n1\n');
    await walk(() => void signals.rows.unshift(...signals.make(2)));
    await run('ai-signals', '-o', place('then.csv'), '--as-of', '2026-11-21T12:00:30Z');
    expect(receiptOf('then.csv')).toMatchObject({ rows: 3, asOf: '2026-11-21T12:00:30.000Z' });
    expect(receiptOf('then.csv').sources[0]?.proof?.walkId).toBe(1);
  });
});

it('the receipt proves what the file was made of, and is printed with --json', async () => {
  const { run, place, receiptOf, signals, walk } = await ready(30);
  await walk(() => void Object.assign(signals.rows[4] ?? {}, { confidence: 'high' }));
  const sql = 'SELECT id, confidence AS c, 1 FROM ai_signals WHERE asset <> :none';
  const { stdout } = await run(sql, '--param', 'none=x', '-o', place('r.csv'), '--json');
  const text = readFileSync(place('r.csv'));
  const now = '2026-11-21T12:01:00.000Z';
  expect(receiptOf('r.csv')).toEqual(JSON.parse(stdout));
  expect(receiptOf('r.csv')).toEqual({
    ...{ version: 1, file: 'r.csv', format: 'csv', by: expect.stringMatching(/^market-mirror \d/) },
    ...{ sql, params: { none: 'x' }, job: null, asOf: null, since: null, exportedAt: now },
    ...{ bytes: text.length, sha256: createHash('sha256').update(text).digest('hex'), rows: 30 },
    columns: [
      { name: 'id', type: 'TEXT' },
      { name: 'c', type: 'REAL' },
      { name: '1', type: null },
    ],
    sources: [
      {
        ...{ job: 'ai-signals', table: 'ai_signals', past: 'ai_signals_history', completeAsOf: now },
        ...{ firstWalkAt: '2026-11-21T12:00:00.000Z', historyFrom: null, quarantined: 1, held: 0 },
        proof: expect.objectContaining({
          ...{ walkId: 2, verdict: 'snapshot', rows: 30, total: 30, renewalOf: null },
        }),
        ...{ seenAsOf: now, lastLook: { walkId: 2, kind: 'walk', startedAt: now, finishedAt: now } },
      },
    ],
    seq: Date.parse('2026-11-21T12:00:00Z'),
    csv: { exact: false, defused: 0 },
  });
});

describe('a place', () => {
  it('that is taken is left as it is, unless --force replaces it; one that cannot be is said before work begins', async () => {
    const { bench, run, place, left } = await ready();
    writeFileSync(place('a.csv'), 'mine');
    for (const [path, code, message] of [
      [place('a.csv'), 64, /exists already: --force replaces it/],
      ['/sys/a.csv', 74, /cannot be written \((EACCES|EPERM|EROFS)\)/],
      ['out/no/a.csv', 64, /there is no folder/],
      ['out', 64, /is a folder/],
    ] as const) {
      const output = ['-o', resolve(bench.dir, path), '--format', 'csv'];
      expect(await run('SELECT * FROM no_such_table', ...output)).toMatchObject({
        ...{ code, stderr: expect.stringMatching(message) },
      });
    }
    expect([left(), readFileSync(place('a.csv'), 'utf8')]).toEqual([['a.csv'], 'mine']);
    expect(await run('ai-signals', '-o', place('a.csv'), '--force')).toMatchObject({ code: 0 });
    expect(readFileSync(place('a.csv'), 'utf8')).toMatch(/^id,/);
  });

  it('is left empty by an export that fails or is stopped', async () => {
    const { bench, run, place, left } = await ready();
    const endless = 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n';
    expect(await run(endless, '-o', place('a.csv'), '--timeout', '300ms')).toMatchObject({ code: 75 });
    expect(await run("SELECT json('{')", '-o', place('a.csv'))).toMatchObject({ code: 64 });
    expect(await run('ai-signals', '-o', place('a.csv'), '--max-age', '0s')).toMatchObject({ code: 0 });
    bench.clock.advance(1_000);
    expect(await run('ai-signals', '-o', place('b.csv'), '--max-age', '0s')).toMatchObject({ code: 75 });
    expect(left()).toEqual(['a.csv', 'a.csv.meta.json']);
  });
});

it('wrong use ends with 64 and says what is wrong', async () => {
  const { bench, run } = await ready();
  for (const [args, message] of [
    [['ai-signal'], /there is no job 'ai-signal' \(did you mean ai-signals\?\)/],
    [['SELECT 1', '--since', '1'], /--since goes with a job/],
    [['ai-signals', '-o', ''], /-o: the name of the file is empty/],
    [['ai-signals', '--since', 'soon'], /--since: cannot read 'soon' as a time/],
    [['ai-signals', '--since', '99999999999999'], /no change has the number/],
    [['ai-signals', '--json'], /name one with --output/],
    [['DELETE FROM news'], /DELETE is not allowed/],
  ] as const) {
    const { code, stdout, stderr } = await run(...args);
    expect({ args, code, stdout, stderr }).toEqual({
      args,
      code: 64,
      stdout: '',
      stderr: expect.stringMatching(message),
    });
  }
  const parquet = ['ai-signals', '--format', 'parquet'];
  const shown = await onTerminal(exportCommand, parquet, bench, { columns: 80 });
  expect(shown).toMatchObject({ code: 64, stdout: '' });
});

describe('--since', () => {
  it("gives what came, changed and went, from a receipt's seq or a time, adds up to the dataset as it stands, and tells nothing of what came and went meanwhile", async () => {
    const { bench, run, lines, place, receiptOf, signals, walk, close } = await ready(8);
    const copy = new Map<unknown, Record<string, unknown>>();
    let cursor = '0';
    const readOn = async () => {
      const rows = await lines('ai-signals', '--since', cursor);
      for (const { _change, _seq, ...row } of rows) {
        if (_change === 'delete') copy.delete(row['id']);
        else copy.set(row['id'], row);
        cursor = String(_seq);
      }
      return rows.map(({ _change }) => String(_change)).sort();
    };
    expect(await readOn()).toEqual(Array(8).fill('insert'));
    await run('ai-signals', '-o', place('one.ndjson'));
    const { seq } = receiptOf('one.ndjson');
    await walk(() => {
      close();
      signals.rows.unshift(...signals.make(1));
      signals.rows.splice(5, 1);
    });
    // One more came, and has gone again.
    await walk(() => void signals.rows.unshift(...signals.make(1)));
    for (let again = 0; again < 2; again += 1)
      await walk(again === 0 ? () => void signals.rows.shift() : undefined);
    expect(await readOn()).toEqual(['delete', 'insert', 'update']);
    expect(await readOn()).toEqual([]);
    expect([...copy.keys()].sort().map((id) => copy.get(id))).toEqual(
      bench.sql('SELECT * FROM ai_signals ORDER BY id').map(inJson),
    );
    for (const since of [String(seq), '2026-11-21T12:00:30Z', '230s'])
      expect([since, (await lines('ai-signals', '--since', since)).length]).toEqual([since, 3]);
    expect(await lines('ai-signals', '--since', '2026-11-21')).toHaveLength(8);
  });

  it('is refused, too, where what it needs is dropped while it begins: 64', async () => {
    const { bench, walk, close } = await ready(4);
    await walk(close);
    const since = isoTime(bench.clock.now() - 30_000);
    let looks = 0;
    const now = () => {
      looks += 1;
      if (looks === 2) {
        bench.tamper('DELETE FROM _ai_signals_history_rows');
        bench.tamper(`UPDATE _datasets SET history_from = '${isoTime(bench.clock.now())}'`);
      }
      return bench.clock.now();
    };
    const environment = { MIRROR_DIR: bench.dir };
    const clock = { ...bench.clock, now };
    const { code, stderr } = await runMain(['export', 'ai-signals', '--since', since], environment, clock);
    expect(looks).toBeGreaterThan(1);
    expect([code, stderr]).toEqual([64, expect.stringContaining('changes of ai_signals up to')]);
  });
});
