import { execFile, execFileSync } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { viewsOf } from '../../src/store/views.ts';
import { setup } from '../helpers/setup.ts';
import { has } from './support.ts';

const run = promisify(execFile);

/** Looks again and again, in one transaction each, until the walk is complete. */
const watchByPython = `
import json, sqlite3, sys
db = sqlite3.connect('file:' + sys.argv[1] + '?mode=ro', uri=True, isolation_level=None)
looks = []
while True:
    db.execute('BEGIN')
    rows = db.execute('SELECT count(*) FROM ai_signals').fetchone()[0]
    walk = db.execute("SELECT status, rows FROM walks WHERE job = 'ai-signals'").fetchone() or ('none', 0)
    codes = db.execute('SELECT count(DISTINCT id) FROM ai_signal_checks').fetchone()[0]
    db.execute('COMMIT')
    looks.append([rows, walk[1], codes])
    if walk[0] == 'complete': break
print(json.dumps(looks))
`;

describe('while the mirror is being written', () => {
  it.skipIf(!has('python3'))(
    "Python's sqlite3 sees whole pages with the place of their walk, never a part",
    async () => {
      const bench = await setup({ rows: 1_500, latencyMs: 25 });
      const watching = run('python3', ['-c', watchByPython, bench.store.file]);
      await bench.mirror('ai-signals');
      const looks = JSON.parse((await watching).stdout) as [number, number, number][];
      for (const [rows, walked, codes] of looks) expect([walked, codes]).toEqual([rows, rows]);
      expect(new Set(looks.map(([rows]) => rows)).size).toBeGreaterThan(2);
      expect(looks.at(-1)?.[0]).toBe(1_500);
    },
  );

  it.skipIf(!has('sqlite3'))('the sqlite3 command line reads every view', async () => {
    const bench = await setup({ rows: 20 });
    for (const { name } of bench.jobs) await bench.mirror(name);
    for (const { name, example } of viewsOf(bench.jobs)) {
      const json = execFileSync('sqlite3', [
        '-readonly',
        '-json',
        bench.store.file,
        `SELECT * FROM "${name}"; ${example}`,
      ]);
      expect(json.length, name).toBeGreaterThan(0);
    }
    const integrity = execFileSync('sqlite3', ['-readonly', bench.store.file, 'PRAGMA integrity_check']);
    expect(integrity.toString()).toBe('ok\n');
  });
});
