/** What `status` says where there is no mirror that it can read. */

import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runMain } from '../helpers/main.ts';
import { setup } from '../helpers/setup.ts';

describe('a mirror that cannot be read', () => {
  it('does not exist yet: 75', async () => {
    const bench = await setup({ rows: 1 });
    const environment = { MIRROR_DIR: join(bench.dir, 'elsewhere') };
    const { code, stderr } = await runMain(['status'], environment, bench.clock);
    expect([code, stderr]).toEqual([75, expect.stringMatching(/does not exist yet: run market-mirror sync/)]);
    expect(existsSync(environment.MIRROR_DIR)).toBe(false);
  });

  it('is newer than this code: 78', async () => {
    const bench = await setup({ rows: 1 });
    bench.tamper(`INSERT INTO __drizzle_migrations (hash, created_at) VALUES ('x', 99999999999999)`);
    const { code, stderr } = await runMain(['status'], { MIRROR_DIR: bench.dir }, bench.clock);
    expect([code, stderr]).toEqual([78, expect.stringMatching(/newer market-mirror/)]);
  });

  it('is no database: 74', async () => {
    const bench = await setup({ rows: 1 });
    const dir = join(bench.dir, 'other');
    mkdirSync(dir);
    writeFileSync(join(dir, 'mirror.db'), 'this is no database, whatever its name says'.repeat(100));
    const { code, stderr } = await runMain(['status'], { MIRROR_DIR: dir }, bench.clock);
    expect([code, stderr]).toEqual([74, expect.stringMatching(/not a database/)]);
  });
});
