import { once } from 'node:events';
import { mkdirSync, statSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { openHealthSocket } from '../../src/daemon/health-socket.ts';
import { temporaryFolder } from '../helpers/folder.ts';

async function setup(status: () => { exitCode: number }) {
  return (await open(status)).socket;
}

async function open(status: () => { exitCode: number }) {
  const dir = temporaryFolder();
  writeFileSync(join(dir, 'http.sock'), 'left by a daemon that was killed');
  const opened = await openHealthSocket({ dir, status });
  if (!opened) throw new Error('no socket');
  onTestFinished(() => opened.close());
  return opened;
}

async function ask(socketPath: string, path: string, method = 'GET') {
  return await new Promise<{ code: number | undefined; body: unknown }>((resolve, reject) => {
    request({ socketPath, path, method }, async (response) => {
      const chunks = await response.toArray();
      resolve({ code: response.statusCode, body: JSON.parse(Buffer.concat(chunks).toString()) });
    })
      .on('error', reject)
      .end();
  });
}

test('a healthy mirror says so, and shows its status', async () => {
  const socket = await setup(() => ({ exitCode: 0, datasets: 5 }));
  expect(await ask(socket, '/health')).toEqual({ code: 200, body: { healthy: true } });
  expect(await ask(socket, '/status')).toEqual({ code: 200, body: { exitCode: 0, datasets: 5 } });
});

test('a status that cannot be read is told, and the socket stays', async () => {
  const socket = await setup(() => {
    throw new Error('the database is busy');
  });
  expect(await ask(socket, '/status')).toEqual({ code: 500, body: { error: 'the database is busy' } });
  expect((await ask(socket, '/health')).code).toBe(500);
});

test('who asks as the daemon ends has an answer, and who never asks does not keep it', async () => {
  let closed: Promise<void> | undefined;
  const health = await open(() => {
    closed = health.close();
    return { exitCode: 0 };
  });
  const silent = connect(health.socket).on('error', () => undefined);
  await once(silent, 'connect');
  expect((await ask(health.socket, '/health')).code).toBe(200);
  await closed;
});

test('nothing else is answered, and nothing can be changed', async () => {
  const socket = await setup(() => ({ exitCode: 0 }));
  expect((await ask(socket, '/etc/passwd')).code).toBe(404);
  expect((await ask(socket, '/__proto__')).code).toBe(404);
  expect((await ask(socket, '/status', 'POST')).code).toBe(405);
});

test('only the owner may open the socket', async () => {
  const socket = await setup(() => ({ exitCode: 0 }));
  expect(statSync(socket).mode & 0o777).toBe(0o600);
});

test('a folder too deep for a socket is an error that says so', async () => {
  const dir = join(temporaryFolder(), 'deep'.repeat(30));
  mkdirSync(dir);
  await expect(openHealthSocket({ dir, status: () => ({ exitCode: 0 }) })).rejects.toMatchObject({
    kind: 'config',
    message: expect.stringMatching(/^MIRROR_DIR: .* too long a path for a socket/),
  });
});
