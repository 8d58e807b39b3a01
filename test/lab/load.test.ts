/** What measures the service: load, and the servers that are compared. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { load, quantile, startBare } from '../../lab/bench/load.ts';
import { withFolder } from '../../lab/passes.ts';

test('load counts answers, how long they took, and what they cost the server; other answers end it', async () => {
  await withFolder(async (folder) => {
    const file = join(folder, 'page');
    writeFileSync(file, 'x'.repeat(1_000));
    const server = await startBare(file);
    onTestFinished(server.end);
    const ask = () => ({ path: '/', key: 'any' });
    const { perSecond, took, cpuMs } = await load(server, { connections: 2, amount: 500 }, '2xx', ask);
    expect(took).toHaveLength(500);
    expect(perSecond).toBeGreaterThan(10);
    expect(quantile(took, 0.99)).toBeGreaterThanOrEqual(quantile(took, 0.5));
    expect(cpuMs).toBeLessThan(50);
    expect(server.residentMb()).toBeGreaterThan(10);
    await expect(load(server, { connections: 1, amount: 3 }, '3xx', ask)).rejects.toThrow(
      '3 of 3 answers were no 3xx',
    );
  });
});
