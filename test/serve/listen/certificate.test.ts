import { chmodSync, writeFileSync } from 'node:fs';
import { connect, type TLSSocket } from 'node:tls';
import { describe, expect, onTestFinished, test } from 'vitest';
import { get, getLast, hello, listening, pairOf, speak } from './support.ts';

/** Asks over TLS. @returns who answered, and what. */
async function ask(
  port: number,
  options = {},
): Promise<{ name: string; heard: string; protocol: string | null }> {
  const socket: TLSSocket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ...options });
  onTestFinished(() => void socket.destroy());
  let heard = '';
  socket.on('data', (data) => {
    heard += data;
  });
  return await new Promise((resolve, reject) => {
    let name = '';
    let protocol: string | null = null;
    socket.on('secureConnect', () => {
      name = String(socket.getPeerCertificate().subject.CN);
      protocol = socket.getProtocol();
      socket.write(getLast());
    });
    socket.on('error', reject);
    socket.on('close', () => resolve({ name, heard, protocol }));
  });
}

test('over TLS a request is answered, and nothing older than 1.2 is spoken', async () => {
  const { tls } = pairOf('first');
  const { url, port } = await listening(hello, {}, { tls });
  expect(url).toMatch(/^https:\/\//);
  expect(await ask(port)).toMatchObject({ name: 'market-mirror test, first', protocol: 'TLSv1.3' });
  expect((await ask(port, { maxVersion: 'TLSv1.2' })).heard).toContain('hello');
  await expect(ask(port, { minVersion: 'TLSv1', maxVersion: 'TLSv1.1' })).rejects.toThrow();
});

describe('a certificate that cannot be used ends the start with 78', () => {
  test('as it is of another key', async () => {
    const { tls, install } = pairOf('first');
    install('first', 'second');
    await expect(listening(hello, {}, { tls })).rejects.toMatchObject({
      kind: 'config',
      message: expect.stringMatching(
        /^MIRROR_SERVE_TLS_CERT \(.*\) and MIRROR_SERVE_TLS_KEY \(.*belong together/,
      ),
    });
  });

  test('as every user of this machine may read its key', async () => {
    const { tls } = pairOf('first');
    chmodSync(tls.keyFile, 0o644);
    await expect(listening(hello, {}, { tls })).rejects.toMatchObject({
      kind: 'config',
      message: `MIRROR_SERVE_TLS_KEY: ${tls.keyFile} can be used by every user: chmod 600 it`,
    });
  });

  test('as it is none', async () => {
    const { tls } = pairOf('first');
    writeFileSync(tls.certFile, 'nonsense');
    await expect(listening(hello, {}, { tls })).rejects.toMatchObject({ kind: 'config' });
  });
});

test('who does not agree on TLS in time is let go of', async () => {
  const { tls } = pairOf('first');
  const { port } = await listening(hello, { headersMs: 500 }, { tls });
  const clients = await Promise.all([speak(port), speak(port, get())]);
  expect((await ask(port)).heard).toContain('hello');
  await Promise.all(clients.map(({ closed }) => closed));
});

test('at the end, those who have not agreed on TLS are closed as well', async () => {
  const { tls } = pairOf('first');
  const { port, end } = await listening(hello, { graceMs: 300 }, { tls });
  const { closed } = await speak(port);
  await end();
  expect(await closed).toBe('');
});
