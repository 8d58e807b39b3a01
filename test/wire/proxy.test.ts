/** The way to an API through a proxy: which calls take it, what the proxy sees, and what is said of its errors. */

import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Ended, runCli } from '../helpers/cli.ts';
import { memoryFolder } from '../helpers/folder.ts';
import { freePort } from '../helpers/loopback.ts';
import { runMain } from '../helpers/main.ts';
import { read } from '../helpers/sync-bench.ts';
import { answersPages, authority, CANARY, json, startProxy, startTlsUpstream } from '../helpers/upstream.ts';
import { virtualClock } from '../helpers/virtual-clock.ts';

const LOGIN = { user: 'desk', password: 'p@ss/w0rd' };
const inUrl = `${LOGIN.user}:${encodeURIComponent(LOGIN.password)}@`;
const basic = `Basic ${Buffer.from(`${LOGIN.user}:${LOGIN.password}`).toString('base64')}`;

async function setup(settings: Record<string, string>, host = 'api.mirror.test') {
  const upstream = await startTlsUpstream(answersPages(250));
  const cwd = memoryFolder('mm-proxy-');
  const environment = {
    MARKET_API_URL: `https://${host}:${upstream.port}`,
    MARKET_API_KEY: CANARY,
    NODE_EXTRA_CA_CERTS: authority,
    ...settings,
  };
  const hidden = ({ code, stdout, stderr }: Ended) => {
    const output = stdout + stderr;
    for (const secret of [CANARY, LOGIN.password, encodeURIComponent(LOGIN.password), basic])
      expect(output).not.toContain(secret);
    return { code, stderr, output };
  };
  /** The built program: whom it trusts over TLS is settled as a process starts. */
  const run = async (...args: string[]) => hidden(await runCli(args, environment, cwd));
  const clock = virtualClock();
  /** In this process, which trusts nobody of ours. */
  const main = async (...args: string[]) =>
    hidden(await runMain(args, { ...environment, MIRROR_DIR: join(cwd, 'data') }, clock));
  return { ...upstream, cwd, run, main, file: join(cwd, 'data/mirror.db') };
}

describe('an https API', () => {
  test('is read through the proxy of HTTPS_PROXY, which never sees the key', async () => {
    const proxy = await startProxy();
    const { run, requests, file } = await setup({ HTTPS_PROXY: `http://127.0.0.1:${proxy.port}` });
    const { code, output } = await run('sync', 'news');
    expect([code, output]).toEqual([0, expect.stringContaining('verified: 250 rows')]);
    expect(read(file, 'SELECT count(*) AS rows FROM news')).toEqual([{ rows: 250 }]);
    expect(requests()).toBeGreaterThan(2);
    expect(proxy.heads.length).toBeGreaterThan(0);
    for (const head of proxy.heads) {
      expect(head).toMatch(/^CONNECT api\.mirror\.test:\d+ HTTP\/1\.1\r\n/);
      expect(head).not.toMatch(/Bearer|canary|proxy-authorization:|GET/i);
    }
  });

  test('the name in small letters goes before', async () => {
    const proxy = await startProxy();
    const { run } = await setup({
      HTTPS_PROXY: 'http://127.0.0.1:1',
      https_proxy: `http://127.0.0.1:${proxy.port}`,
    });
    expect((await run('sync', 'usage')).code).toBe(0);
  });

  test('a proxy that wants a name and a password gets them', async () => {
    const proxy = await startProxy((head) =>
      head.includes(`\r\nproxy-authorization: ${basic}\r\n`) ? undefined : 'HTTP/1.1 407 No\r\n\r\n',
    );
    const { run } = await setup({ HTTPS_PROXY: `${inUrl}127.0.0.1:${proxy.port}/` });
    expect((await run('sync', 'usage')).code).toBe(0);
  });

  test('is read through a proxy that is spoken to over TLS', async () => {
    const proxy = await startProxy(undefined, { overTls: true });
    const { run } = await setup({ HTTPS_PROXY: `https://localhost:${proxy.port}` });
    expect(await run('sync', 'usage')).toMatchObject({
      code: 0,
      stderr: expect.not.stringContaining('Warning'),
    });
    expect(proxy.heads).toHaveLength(1);
  });

  test('is read through the proxy within the same bounds', async () => {
    const upstream = await startTlsUpstream((response) => json(response, Buffer.alloc(17 * 2 ** 20, ' ')));
    const proxy = await startProxy();
    const { run } = await setup({
      MARKET_API_URL: `https://api.mirror.test:${upstream.port}`,
      HTTPS_PROXY: `http://127.0.0.1:${proxy.port}`,
    });
    expect(await run('sync', 'usage')).toMatchObject({
      code: 65,
      output: expect.stringContaining('an answer larger than any page may be'),
    });
  });

  test('a proxy is said by doctor, by its host alone', async () => {
    const proxy = await startProxy();
    const { run } = await setup({ HTTPS_PROXY: `http://${inUrl}127.0.0.1:${proxy.port}` });
    const { code, output } = await run('doctor', '--all');
    expect(code).toBe(0);
    expect(output).toMatch(new RegExp(`ok\\s+HTTPS_PROXY\\s+127\\.0\\.0\\.1:${proxy.port}$`, 'm'));
    expect(output).toContain(`the API is reached through the proxy 127.0.0.1:${proxy.port}`);
    // Also where it lists nothing that is well.
    expect((await run('doctor')).output).toContain(
      `the API is reached through the proxy 127.0.0.1:${proxy.port}`,
    );
  });
});

describe('the proxy is left out', () => {
  /** Refuses whatever comes. */
  const deadProxy = async () => startProxy(() => 'HTTP/1.1 500 No\r\n\r\n');

  test.each(['127.0.0.1', 'localhost', '[::ffff:127.0.0.1]'])(
    'for an API on this machine (%s)',
    async (host) => {
      const proxy = await deadProxy();
      const { main } = await setup({ HTTPS_PROXY: `http://127.0.0.1:${proxy.port}` }, host);
      const { code, output } = await main('sync', 'usage');
      expect([code, output]).toEqual([69, expect.stringContaining("the API's certificate is not trusted")]);
      expect((await main('doctor', '--all')).output).not.toContain('through the proxy');
      expect(proxy.heads).toEqual([]);
    },
  );

  test('for plain http, whatever HTTP_PROXY says', async () => {
    const proxy = await deadProxy();
    const { main } = await setup({
      MARKET_API_URL: `http://127.0.0.1:${await freePort()}`,
      HTTP_PROXY: `http://127.0.0.1:${proxy.port}`,
      http_proxy: `http://127.0.0.1:${proxy.port}`,
      HTTPS_PROXY: `http://127.0.0.1:${proxy.port}`,
    });
    const { code, output } = await main('sync', 'usage');
    expect([code, output]).toEqual([69, expect.stringContaining('ECONNREFUSED')]);
    expect(output).not.toContain('proxy');
    expect(proxy.heads).toEqual([]);
  });

  test.each([
    ['NO_PROXY', 'other.example,api.mirror.test'],
    ['NO_PROXY', '.mirror.test'],
    ['NO_PROXY', 'MIRROR.test'],
    ['NO_PROXY', '*'],
    ['no_proxy', 'mirror.test'],
  ])('for an API that %s=%s names', async (name, hosts) => {
    const proxy = await deadProxy();
    const { main } = await setup({ HTTPS_PROXY: `http://127.0.0.1:${proxy.port}`, [name]: hosts });
    // Nobody knows the name without the proxy.
    const { code, output } = await main('sync', 'usage');
    expect([code, output]).toEqual([
      69,
      expect.stringMatching(/cannot be reached .*\((ENOTFOUND|EAI_AGAIN)\)/),
    ]);
    expect(proxy.heads).toEqual([]);
    const doctor = (await main('doctor', '--all')).output;
    expect(doctor).toContain(
      `the API is reached without the proxy 127.0.0.1:${proxy.port}, since NO_PROXY names it`,
    );
  });

  test('not for one that NO_PROXY does not name', async () => {
    const proxy = await startProxy();
    const { run } = await setup({
      HTTPS_PROXY: `http://127.0.0.1:${proxy.port}`,
      NO_PROXY: 'mirror.example,pi.mirror.test',
    });
    expect((await run('sync', 'usage')).code).toBe(0);
    expect(proxy.heads).toHaveLength(1);
  });
});

describe('an error of the proxy is told as the proxy’s', () => {
  test.each([
    [
      '407',
      'HTTP/1.1 407 Proxy Authentication Required\r\n\r\n',
      /the proxy of HTTPS_PROXY wants a user name and a password \(407\)/,
    ],
    [
      '403',
      'HTTP/1.1 403 Forbidden\r\ncontent-length: 2\r\n\r\nNo',
      /the proxy of HTTPS_PROXY lets no call .*\(403\)/,
    ],
    ['502', 'HTTP/1.1 502 Bad Gateway\r\n\r\n', /the proxy of HTTPS_PROXY does not reach the API \(502\)/],
    [
      'garbage',
      'SSH-2.0-OpenSSH_9.2\r\n',
      /the proxy of HTTPS_PROXY cannot be reached or does not answer \(.+\)/,
    ],
    ['nothing', '', /the proxy of HTTPS_PROXY cannot be reached or does not answer \(UND_ERR_SOCKET\)/],
  ])('%s: 69', async (_, refusal, told) => {
    const proxy = await startProxy(() => refusal);
    const { main, requests } = await setup({ HTTPS_PROXY: `http://${inUrl}127.0.0.1:${proxy.port}` });
    const synced = await main('sync', 'usage');
    expect([synced.code, synced.output]).toEqual([69, expect.stringMatching(told)]);
    const status = await main('status');
    expect([status.code, status.output]).toEqual([
      69,
      expect.stringMatching(/✗ (the proxy of HTTPS_PROXY .+) since .+UTC/),
    ]);
    expect(status.output).not.toMatch(/the API cannot be reached/);
    const doctor = await main('doctor');
    expect([doctor.code, doctor.output]).toEqual([69, expect.stringMatching(told)]);
    expect([requests(), proxy.heads.length <= 6]).toEqual([0, true]);
  });

  test('refused: 69', async () => {
    const { main } = await setup({ HTTPS_PROXY: `http://${inUrl}127.0.0.1:${await freePort()}` });
    expect(await main('sync', 'usage')).toMatchObject({
      code: 69,
      output: expect.stringMatching(
        /the proxy of HTTPS_PROXY cannot be reached .*\(ECONNREFUSED\); check HTTPS_PROXY/,
      ),
    });
  });

  test('unknown: 69', async () => {
    const { main } = await setup({ HTTPS_PROXY: 'http://proxy.mirror.test:3128' });
    expect(await main('sync', 'usage')).toMatchObject({
      code: 69,
      output: expect.stringMatching(/the proxy of HTTPS_PROXY cannot be reached .*\((ENOTFOUND|EAI_AGAIN)\)/),
    });
  });

  test('over TLS, by a certificate that nobody trusts: 69', async () => {
    const proxy = await startProxy(undefined, { overTls: true });
    const { main } = await setup({ HTTPS_PROXY: `https://localhost:${proxy.port}` });
    expect(await main('sync', 'usage')).toMatchObject({
      code: 69,
      output: expect.stringMatching(
        /the certificate of the proxy of HTTPS_PROXY is not trusted \(.*SELF_SIGNED.*\)/,
      ),
    });
    expect(proxy.heads).toEqual([]);
  });

  test('a certificate that nobody trusts is the API’s, also behind a proxy', async () => {
    const proxy = await startProxy();
    const { run, requests } = await setup({
      HTTPS_PROXY: `http://127.0.0.1:${proxy.port}`,
      NODE_EXTRA_CA_CERTS: '',
    });
    const { code, output } = await run('sync', 'usage');
    expect([code, output]).toEqual([
      69,
      expect.stringMatching(/the API's certificate is not trusted .*NODE_EXTRA_CA_CERTS/),
    ]);
    expect(requests()).toBe(0);
  });

  test('an API that does not speak TLS is no bad certificate', async () => {
    const proxy = await startProxy((head) =>
      head.startsWith('CONNECT') ? 'HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 400 Bad\r\n\r\n' : undefined,
    );
    const { run } = await setup({ HTTPS_PROXY: `http://127.0.0.1:${proxy.port}` });
    const { code, output } = await run('sync', 'usage');
    expect(code).toBe(69);
    expect(output).not.toContain('certificate');
  });
});

test('an answer that breaks off behind the proxy is the API’s', async () => {
  const upstream = await startTlsUpstream((response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': 100 }).write('{');
    setTimeout(() => response.socket?.destroy(), 20);
  });
  const proxy = await startProxy();
  const { run } = await setup({
    MARKET_API_URL: `https://api.mirror.test:${upstream.port}`,
    HTTPS_PROXY: `http://127.0.0.1:${proxy.port}`,
  });
  expect(await run('sync', 'usage')).toMatchObject({
    code: 69,
    output: expect.stringContaining('the API answers badly'),
  });
});

describe('a wrong HTTPS_PROXY is an error of the settings: 78, one line without its password', () => {
  test.each([
    ['no host', 'http://'],
    ['no port that there is', `http://${inUrl}proxy.example.com:99999`],
    ['a password that is not written as in addresses', 'http://desk:pa/ss@proxy.example.com:3128'],
    ['a password like a port', 'http://desk:12/secret@proxy.example.com:3128'],
    ['a password with a hash', 'http://desk:12#secret@proxy.example.com:3128'],
    ['a percent that is none', 'http://desk:100%@proxy.example.com:3128'],
    ['another kind', `socks5://${inUrl}proxy.example.com:1080`],
    ['a space', `http://${inUrl}proxy example.com:3128`],
    ['words', 'the proxy of the office'],
  ])('%s', async (_, text) => {
    const { main, requests } = await setup({ HTTPS_PROXY: text });
    const { code, output, stderr } = await main('sync', 'usage');
    expect([code, output]).toEqual([78, expect.stringContaining('HTTPS_PROXY')]);
    expect(output).not.toMatch(/secret|pa\/ss|100%|desk/);
    expect(stderr.trim().split('\n')).toHaveLength(1);
    expect(requests()).toBe(0);
  });

  test.each(['start', 'doctor'])('for %s, too', async (command) => {
    const { main } = await setup({ HTTPS_PROXY: 'http://desk:12#secret@proxy.example.com:3128' });
    const { code, output } = await main(command);
    expect([code, output]).toEqual([78, expect.stringContaining('HTTPS_PROXY')]);
    expect(output).not.toContain('secret');
  });

  test('is none for commands that call no API', async () => {
    const { main } = await setup({ HTTPS_PROXY: 'the proxy' });
    expect((await main('status')).code).not.toBe(78);
  });
});
