import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { Database } from '../../../src/store/sqlite.ts';
import { edit } from '../edit.ts';
import { expectEqual, setup, setupMirrored, setupShipped } from './bench.ts';

describe('a mirror that is shipped', () => {
  test('is there value by value, with true types, and tells how fresh it is', async () => {
    const { ship, there, file, clock } = await setupMirrored();
    const { code, stdout, stderr } = await ship();
    expect([code, stdout, stderr]).toEqual([0, expect.anything(), '']);
    expect(stdout).toMatch(/^ai-signals: 12 rows sent, all there are, up to change \d+$/m);
    await expectEqual(file, there);
    const types = await there.query<{ name: string; type: string }>(
      `SELECT column_name AS name, data_type AS type FROM information_schema.columns
       WHERE table_name = 'ai_signals' AND table_schema = 'market_mirror'`,
    );
    expect(Object.fromEntries(types.map(({ name, type }) => [name, type]))).toMatchObject({
      timestamp: 'text',
      timestamp_utc: 'timestamp with time zone',
      confidence: 'double precision',
      quality_publishable: 'boolean',
      quality_checks: 'json',
      _walk_id: 'bigint',
      _changed_at: 'timestamp with time zone',
    });
    const [signal] = await there.query<{ equal: boolean }>(
      'SELECT bool_and(timestamp_utc = timestamp::timestamptz) AS equal FROM ai_signals',
    );
    expect(signal?.equal).toBe(true);
    const fresh = await there.query<{ job: string; rows: string; verdict: string }>(
      'SELECT job, rows, verdict, complete_as_of FROM freshness ORDER BY job',
    );
    expect(fresh.find(({ job }) => job === 'ai-signals')).toEqual({
      job: 'ai-signals',
      rows: '12',
      verdict: 'snapshot',
      complete_as_of: expect.any(Date),
    });
    expect(clock.now()).toBeGreaterThan(0);
    expect((await there.query('SELECT * FROM changes')).length).toBeGreaterThan(12);
  });

  test('is followed by what changed alone: rows that came, changed and went, and their versions', async () => {
    const { sync, ship, there, file, model, clock } = await setupShipped();
    for (let round = 0; round < 2; round += 1) {
      edit({ model, clock }, round);
      await clock.sleep(200_000);
      await sync();
      expect((await ship()).code).toBe(0);
      await expectEqual(file, there);
    }
    expect((await ship()).stdout).toMatch(/^ai-signals: nothing new/m);
    const views = await there.query<{ reason_code: string }>('SELECT * FROM ai_signal_reason_codes');
    expect(views.length).toBeGreaterThan(0);
    expect((await there.query('SELECT * FROM ai_signal_changes WHERE version > 1')).length).toBeGreaterThan(
      0,
    );
  });

  test('keeps there a row that went, came back, and has not changed since', async () => {
    const bench = await setupShipped();
    const { rows } = bench.model.data.aiSignals;
    const [row = {}] = rows;
    for (const change of [() => rows.shift(), () => rows.unshift(row), () => edit(bench, 3)]) {
      change();
      await bench.clock.sleep(200_000);
      bench.model.data.aiSignals.generatedAt = new Date(bench.clock.now()).toISOString();
      await bench.sync('ai-signals');
      expect((await bench.ship('ai-signals')).stdout).toMatch(/^ai-signals: \d+ changes? sent/m);
      await expectEqual(bench.file, bench.there);
    }
  });

  test('brings the walk to which a row was added after its end, once it fits', async () => {
    const bench = await setup(5);
    const { sync, ship, there, file, model, run, clock } = bench;
    const [row = {}] = model.data.aiSignals.rows;
    const { confidence } = row;
    row['confidence'] = 'high';
    await sync('ai-signals');
    await ship();
    const mirror = new Database(file);
    mirror.prepare(`UPDATE quarantine SET body = json_set(body, '$.confidence', ?)`).run(confidence);
    mirror.close();
    await clock.sleep(200_000);
    expect((await run(['quarantine', 'retry'])).stdout).toContain('1 mirrored');
    expect((await ship('ai-signals')).stdout).toContain('ai-signals: 1 change sent');
    await expectEqual(file, there);
  });

  test('is proven equal by --verify, and compared by --check, which writes nothing: the first loads anew what somebody changed there', async () => {
    const { ship, there, file } = await setupMirrored();
    expect(await ship('--check')).toMatchObject({
      code: 75,
      stderr: expect.stringContaining('is not there'),
    });
    await ship();
    expect(await ship('--check')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^ai-signals: both sides are equal$/m),
    });
    expect((await ship('--verify')).stdout).toMatch(/^ai-signals: both sides are equal, up to change \d+$/m);
    await there.query('DELETE FROM _ai_signals_rows WHERE _key = (SELECT min(_key) FROM ai_signals)');
    await there.query(`UPDATE news SET _body = '{}' WHERE _key = (SELECT max(_key) FROM news)`);
    await there.query(
      `INSERT INTO smart_wallets SELECT (jsonb_populate_record(one, '{"_key": "nobody", "_number": 4711}')).* FROM smart_wallets AS one LIMIT 1`,
    );
    // It writes nothing, and so says the same again.
    for (const [options, code] of [
      [['ai-signals', 'news', 'smart-wallets'], 75],
      [['ai-signals'], 75],
      [['usage'], 0],
    ] as const) {
      const checked = await ship('--check', ...options);
      expect(checked.code).toBe(code);
      for (const line of [
        'ai-signals: differs: _ai_signals_rows (12 rows in the mirror, 11 there)',
        'news: differs: news (some of 12 rows with other values)',
        'smart-wallets: differs: smart_wallets (12 rows in the mirror, 13 there)',
      ])
        if (options.some((job) => line.startsWith(job))) expect(checked.stdout).toContain(line);
    }
    const { stdout, code } = await ship('--verify');
    expect(code).toBe(0);
    expect(stdout).toContain('ai-signals: loaded anew _ai_signals_rows (12 rows in the mirror, 11 there)');
    expect(stdout).toMatch(/^news: loaded anew news \(some of 12 rows with other values\)/m);
    expect(stdout).toContain('smart-wallets: loaded anew smart_wallets (12 rows in the mirror, 13 there)');
    await expectEqual(file, there);
    expect((await ship('--verify')).stdout).not.toContain('loaded anew');
  });

  test('is forgotten by --drop, on a second word alone', async () => {
    const { sync, ship, there } = await setup();
    await sync('usage');
    await ship('usage');
    expect((await ship('--drop')).code).toBe(64);
    for (const beside of ['usage', '--verify', '--check', '--reader=nobody', '--json']) {
      const refused = await ship(beside, '--drop', '--yes');
      expect([beside, refused.code, refused.stdout]).toEqual([beside, 64, '']);
      expect(refused.stderr).toMatch(/^market-mirror: [^\n]*--drop[^\n]*\n$/);
    }
    expect((await ship('--drop', '--yes')).stdout).toBe('market_mirror is removed from Postgres\n');
    expect(await there.query(`SELECT 1 FROM pg_namespace WHERE nspname = 'market_mirror'`)).toEqual([]);
    expect((await ship('--drop', '--yes')).stdout).toBe('market_mirror was not there\n');
  });

  test('may be read by a role that is made on wish', async () => {
    const { sync, ship, there } = await setup();
    await sync('usage');
    const role = `reader_${there.database}`;
    expect((await ship('usage', '--reader', role)).code).toBe(0);
    const [may] = await there.query<{ reads: boolean; writes: boolean }>(
      `SELECT has_table_privilege($1, 'usage', 'SELECT') AS reads, has_table_privilege($1, 'usage', 'INSERT') AS writes`,
      [role],
    );
    expect(may).toEqual({ reads: true, writes: false });
  });
});

describe('what cannot be shipped to', () => {
  test('is named in one line without its password, and nothing is loaded without a setting', async () => {
    const { sync, run, cwd } = await setup();
    await sync('usage');
    const missing = await run(['ship']);
    expect([missing.code, missing.stderr]).toEqual([78, expect.stringContaining('MIRROR_SHIP is missing')]);
    const bad = await run(['ship'], { MIRROR_SHIP: 'mysql://user:s3cret@host/db' });
    expect([bad.code, bad.stderr]).toEqual([78, expect.stringContaining('MIRROR_SHIP is not of the form')]);
    const down = await run(['ship'], { MIRROR_SHIP: 'postgres://user:s3cret@127.0.0.1:9/db' });
    expect([down.code, down.stderr]).toEqual([75, expect.stringContaining('cannot be reached')]);
    writeFileSync(join(cwd, 'address'), 'postgres://user:s3cret@127.0.0.1:9/db?schema=public\n');
    const file = await run(['ship'], { MIRROR_SHIP_FILE: join(cwd, 'address') });
    expect([file.code, file.stderr]).toEqual([78, expect.stringContaining('names a schema')]);
    for (const { stderr, stdout } of [missing, bad, down, file])
      expect(stderr + stdout).not.toContain('s3cret');
  });

  test('is left as it is where it follows another mirror, is newer, or holds tables of others', async () => {
    const { sync, ship, there } = await setup();
    await sync('usage');
    await ship('usage');
    await there.query(`UPDATE _mirror SET id = 'another'`);
    expect(await ship('usage')).toMatchObject({
      code: 78,
      stderr: expect.stringContaining('follows another mirror'),
    });
    expect((await ship('--drop', '--yes')).code).toBe(78);
    await there.query('UPDATE _mirror SET version = 99');
    expect(await ship('usage')).toMatchObject({
      code: 78,
      stderr: expect.stringContaining('newer market-mirror'),
    });
    await there.query('DROP TABLE _mirror');
    expect(await ship('usage')).toMatchObject({
      code: 78,
      stderr: expect.stringContaining('tables of somebody else'),
    });
    expect((await there.query('SELECT * FROM usage')).length).toBe(1);
  });

  test('is left untouched where a development version made it, until it is dropped', async () => {
    const { sync, ship, there } = await setup();
    await sync('usage');
    await ship('usage');
    await there.query('UPDATE _mirror SET version = 2');
    await there.query('DROP TABLE walks CASCADE');
    const { code, stdout, stderr } = await ship();
    expect([code, stdout]).toEqual([78, '']);
    expect(stderr).toMatch(/^market-mirror: .*was made by a development version: remove it .*\n$/);
    expect(await there.query(`SELECT to_regclass('walks') AS walks`)).toEqual([{ walks: null }]);
    expect((await ship('--drop', '--yes')).code).toBe(0);
    expect((await ship('usage')).code).toBe(0);
    expect(await there.query('SELECT 1 FROM walks')).toHaveLength(1);
  });

  test('is named where it is read-only, and nothing of it is moved', async () => {
    const { sync, ship, there } = await setup();
    await sync('usage');
    await there.query(`ALTER DATABASE ${there.database} SET default_transaction_read_only = on`);
    expect(await ship()).toMatchObject({ code: 75, stderr: expect.stringContaining('is read-only') });
  });
});
