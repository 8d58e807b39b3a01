import { chmodSync, writeFileSync } from 'node:fs';
import { connect, type TLSSocket } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { get, getLast, hello, listening, pairOf, speak } from './support.ts';

/** Asks over TLS. @returns what was heard. */
const ask = (port: number, options = {}) =>
  new Promise<string>((resolve, reject) => {
    const socket: TLSSocket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ...options });
    onTestFinished(() => void socket.destroy());
    let heard = '';
    socket.on('data', (data) => {
      heard += data;
    });
    socket.on('secureConnect', () => void socket.write(getLast()));
    socket.on('error', reject);
    socket.on('close', () => resolve(heard));
  });

test('over TLS a request is answered, nothing older than 1.2 is spoken, and who does not agree on it in time is let go of', async () => {
  const { tls } = pairOf('first');
  const { url, port } = await listening(hello, { headersMs: 500 }, { tls });
  expect(url).toMatch(/^https:\/\//);
  const silent = await Promise.all([speak(port), speak(port, get())]);
  for (const options of [{}, { maxVersion: 'TLSv1.2' }]) expect(await ask(port, options)).toContain('hello');
  await expect(ask(port, { minVersion: 'TLSv1', maxVersion: 'TLSv1.1' })).rejects.toThrow();
  await Promise.all(silent.map(({ closed }) => closed));
});

test('a certificate that is of another key, that every user may read, or that is none, ends the start with 78', async () => {
  const { tls, install } = pairOf('first');
  const refused = (message: RegExp) =>
    expect(listening(hello, {}, { tls })).rejects.toMatchObject({
      kind: 'config',
      message: expect.stringMatching(message),
    });
  install('first', 'second');
  await refused(/^MIRROR_SERVE_TLS_CERT \(.*\) and MIRROR_SERVE_TLS_KEY \(.*belong together/);
  install('first');
  chmodSync(tls.keyFile, 0o644);
  await refused(/^MIRROR_SERVE_TLS_KEY: .*tls\.key can be used by every user: chmod 600 it$/);
  chmodSync(tls.keyFile, 0o600);
  writeFileSync(tls.certFile, 'nonsense');
  await refused(/MIRROR_SERVE_TLS_CERT/);
});
