/** What CI makes of the answers of a registry about advisories. */

import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';

const leaky = { id: 1, url: 'https://advisories.example/1', title: 'leaks', vulnerable_versions: '<2.0.0' };

/** Runs it in a project that needs `leaky` 1.0.0, beside a registry that answers so. */
async function audit(answer: { status: number; body: object }) {
  const registry = createServer((request, response) => {
    const isQuestion = request.method === 'POST';
    const packument = { name: 'leaky', versions: { '1.0.0': { name: 'leaky', version: '1.0.0', dist: {} } } };
    response.statusCode = isQuestion ? answer.status : 200;
    response.setHeader('Content-Type', 'application/json');
    request.resume().on('end', () => response.end(JSON.stringify(isQuestion ? answer.body : packument)));
  });
  await new Promise<void>((done) => registry.listen(0, '127.0.0.1', done));
  onTestFinished(() => void registry.close());
  const cwd = mkdtempSync(join(tmpdir(), 'mirror-audit-'));
  onTestFinished(() => rmSync(cwd, { recursive: true, force: true }));
  const root = { name: 'project', version: '1.0.0', dependencies: { leaky: '1.0.0' } };
  const packages = { '': root, 'node_modules/leaky': { version: '1.0.0' } };
  writeFileSync(join(cwd, 'package.json'), JSON.stringify(root));
  writeFileSync(
    join(cwd, 'package-lock.json'),
    JSON.stringify({ name: 'project', version: '1.0.0', lockfileVersion: 3, requires: true, packages }),
  );
  const { port } = registry.address() as AddressInfo;
  const env = {
    PATH: process.env['PATH'],
    HOME: cwd,
    npm_config_registry: `http://127.0.0.1:${port}/`,
    npm_config_cache: join(cwd, 'cache'),
  };
  return await new Promise<{ code: number; said: string }>((done) =>
    execFile(process.execPath, [resolve('.ci/audit.mjs')], { cwd, env }, (error, stdout) =>
      done({ code: Number(error?.code ?? 0), said: stdout }),
    ),
  );
}

test.each(['high', 'critical'])('a package with a %s advisory fails, by its name', async (severity) => {
  const { code, said } = await audit({ status: 200, body: { leaky: [{ ...leaky, severity }] } });
  expect([code, said]).toEqual([1, expect.stringMatching(`^${severity}: leaky .*leaks https://advisories`)]);
});

test('lesser advisories and none are no failure', async () => {
  const lesser = await audit({ status: 200, body: { leaky: [{ ...leaky, severity: 'moderate' }] } });
  expect(lesser).toEqual({ code: 0, said: 'audited: 0 of high or critical severity, 1 others\n' });
  const none = await audit({ status: 200, body: {} });
  expect(none).toEqual({ code: 0, said: 'audited: 0 of high or critical severity, 0 others\n' });
});

test.each([404, 501])('a registry without advisories is no failure, and it is said: %d', async (status) => {
  const { code, said } = await audit({ status, body: {} });
  expect([code, said]).toEqual([0, expect.stringMatching(/^NOT AUDITED: the registry gives no advisories/)]);
});
