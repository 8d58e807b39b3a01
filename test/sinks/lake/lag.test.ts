import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { lagsOf } from '../../../src/reading/status/lag.ts';
import { openMirror } from '../../../src/store/read.ts';
import { Database } from '../../../src/store/sqlite.ts';
import { edit } from '../edit.ts';
import { setup } from './bench.ts';

test('a lake that has all that is proven is behind by nothing, though the mirror has changed since', async () => {
  const { sync, lake, there, file, model, clock, environment } = await setup();
  const lags = () => {
    const connection = openMirror(environment.MIRROR_DIR);
    try {
      const note = { seqs: seqsThere(there), trouble: null };
      const { lake, ship } = lagsOf(connection, { lake: note, ship: note }, clock.now());
      return { lake: lake?.changes, seconds: lake?.seconds, ship: ship?.changes };
    } finally {
      connection.close();
    }
  };
  await sync('ai-signals');
  await lake();
  expect(lags()).toEqual({ lake: 0, seconds: 0, ship: 0 });
  clock.advance(60_000);
  edit({ model, clock }, 1);
  await sync('ai-signals');
  const { lake: behind } = lags();
  expect(behind).toBeGreaterThan(0);
  const mirror = new Database(file);
  mirror.exec(`UPDATE walks SET verdict = 'union' WHERE id = (SELECT max(id) FROM walks)`);
  mirror.close();
  expect(lags()).toEqual({ lake: 0, seconds: 0, ship: behind });
  expect((await lake()).stdout).toContain('ai-signals: nothing new');
});

/** Up to which change each job is there. */
function seqsThere(there: string): Record<string, number> {
  const proofs = readdirSync(there).filter((name) => !name.startsWith('_'));
  const digestText = proofs.map((table) =>
    JSON.parse(readFileSync(join(there, table, '_proof.json'), 'utf8')),
  );
  return Object.fromEntries(digestText.map(({ seq, source }) => [source.job, seq]));
}
