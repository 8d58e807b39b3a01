/** What CI makes of the answers of a registry about advisories. */

import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join, resolve } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder } from './helpers/folder.ts';
import { listenOnLoopback } from './helpers/loopback.ts';

/** A project that needs `leaky` 1.0.0, beside a registry that answers so. */
async function audit(status: number, body: object) {
  const registry = createServer((request, response) => {
    const isQuestion = request.method === 'POST';
    const packument = { name: 'leaky', versions: { '1.0.0': { name: 'leaky', version: '1.0.0', dist: {} } } };
    response.writeHead(isQuestion ? status : 200, { 'Content-Type': 'application/json' });
    request.resume().on('end', () => response.end(JSON.stringify(isQuestion ? body : packument)));
  });
  const { url, close } = await listenOnLoopback(registry);
  onTestFinished(close);
  const cwd = temporaryFolder();
  const root = { name: 'project', version: '1.0.0', dependencies: { leaky: '1.0.0' } };
  const packages = { '': root, 'node_modules/leaky': { version: '1.0.0' } };
  const lock = { name: 'project', version: '1.0.0', lockfileVersion: 3, requires: true, packages };
  writeFileSync(join(cwd, 'package.json'), JSON.stringify(root));
  writeFileSync(join(cwd, 'package-lock.json'), JSON.stringify(lock));
  const npm = { npm_config_registry: `${url}/`, npm_config_cache: join(cwd, 'cache') };
  const env = { PATH: process.env['PATH'], HOME: cwd, ...npm };
  return await new Promise<[code: number, said: string]>((done) =>
    execFile(process.execPath, [resolve('.ci/audit.mjs')], { cwd, env }, (error, stdout) =>
      done([Number(error?.code ?? 0), stdout]),
    ),
  );
}

const leaky = (severity: string) => ({
  leaky: [
    { id: 1, url: 'https://advisories.example/1', title: 'leaks', vulnerable_versions: '<2', severity },
  ],
});

test.each([
  ['a high advisory fails, by its name', 200, leaky('high'), 1, /^high: leaky .*leaks https:\/\/advisories/],
  ['a registry without advisories is no failure, and it is said', 404, {}, 0, /^NOT AUDITED: the registry/],
])('%s', async (_, status, body, code, line) => {
  expect(await audit(status, body)).toEqual([code, expect.stringMatching(line)]);
});
