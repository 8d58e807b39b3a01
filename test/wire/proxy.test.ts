/** The way to an API through a proxy: which calls take it, what the proxy sees, and what is said of its errors. */

import { join } from 'node:path';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
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

const to = (port: number) => `http://127.0.0.1:${port}`;

async function setup(settings: Record<string, string>, answer = answersPages(250)) {
  const upstream = await startTlsUpstream(answer);
  const cwd = memoryFolder('mm-proxy-');
  const environment = {
    MARKET_API_URL: `https://api.mirror.test:${upstream.port}`,
    MARKET_API_KEY: CANARY,
    ...settings,
  };
  const hidden = ({ code, stdout, stderr }: Ended) => {
    const output = stdout + stderr;
    for (const secret of [CANARY, LOGIN.password, encodeURIComponent(LOGIN.password), basic])
      expect(output).not.toContain(secret);
    return { code, stderr, output };
  };
  /** The built program: whom it trusts over TLS is settled as a process starts. */
  const run = async (...args: string[]) =>
    hidden(await runCli(args, { ...environment, NODE_EXTRA_CA_CERTS: authority }, cwd));
  const clock = virtualClock();
  /** In this process, which trusts nobody of ours. */
  const main = async (...args: string[]) =>
    hidden(await runMain(args, { ...environment, MIRROR_DIR: join(cwd, 'data') }, clock));
  /** In this process, which trusts everybody meanwhile: who is trusted is not under test. */
  const trusting = async (...args: string[]) => {
    vi.stubEnv('NODE_TLS_REJECT_UNAUTHORIZED', '0');
    onTestFinished(() => void vi.unstubAllEnvs());
    return await main(...args);
  };
  return { ...upstream, run, main, trusting, file: join(cwd, 'data/mirror.db') };
}

test('an https API is read through the proxy of HTTPS_PROXY, which gets its name and password, and never sees the key', async () => {
  const proxy = await startProxy((head) =>
    head.includes(`\r\nproxy-authorization: ${basic}\r\n`) ? undefined : 'HTTP/1.1 407 No\r\n\r\n',
  );
  const { run, requests, file } = await setup({ HTTPS_PROXY: `${inUrl}127.0.0.1:${proxy.port}/` });
  const { code, output } = await run('sync', 'news');
  expect([code, output]).toEqual([0, expect.stringContaining('verified: 250 rows')]);
  expect(output).not.toContain('Warning');
  expect(read(file, 'SELECT count(*) AS rows FROM news')).toEqual([{ rows: 250 }]);
  expect(requests()).toBeGreaterThan(2);
  expect(proxy.heads.length).toBeGreaterThan(0);
  for (const head of proxy.heads) {
    expect(head).toMatch(/^CONNECT api\.mirror\.test:\d+ HTTP\/1\.1\r\n/);
    expect(head).not.toMatch(/Bearer|canary|GET/i);
  }
});

describe('the proxy', () => {
  test('is named in small letters before capitals, may be spoken to over TLS, and is said by doctor, by its host alone', async () => {
    const proxy = await startProxy(undefined, { overTls: true });
    const { trusting } = await setup({
      HTTPS_PROXY: 'http://127.0.0.1:1',
      https_proxy: `https://${inUrl}localhost:${proxy.port}`,
      NO_PROXY: 'mirror.example,pi.mirror.test',
    });
    expect((await trusting('sync', 'usage')).code).toBe(0);
    expect(proxy.heads).toHaveLength(1);
    const through = `the API is reached through the proxy localhost:${proxy.port}`;
    expect((await trusting('doctor', '--all')).output).toContain(through);
    // Also where it lists nothing that is well.
    expect((await trusting('doctor')).output).toContain(through);
  });

  test('brings answers within the same bounds', async () => {
    const proxy = await startProxy();
    const { trusting } = await setup({ HTTPS_PROXY: to(proxy.port) }, (response) =>
      json(response, Buffer.alloc(17 * 2 ** 20, ' ')),
    );
    expect(await trusting('sync', 'usage')).toMatchObject({
      code: 65,
      output: expect.stringContaining('an answer larger than any page may be'),
    });
  });

  test.each(['127.0.0.1', '[::ffff:127.0.0.1]'])(
    'is left out for an API on this machine (%s)',
    async (host) => {
      const proxy = await startProxy(() => 'HTTP/1.1 500 No\r\n\r\n');
      const upstream = await startTlsUpstream(answersPages(1));
      const { main } = await setup({
        MARKET_API_URL: `https://${host}:${upstream.port}`,
        HTTPS_PROXY: to(proxy.port),
      });
      const { code, output } = await main('sync', 'usage');
      expect([code, output]).toEqual([69, expect.stringContaining("the API's certificate is not trusted")]);
      expect(proxy.heads).toEqual([]);
    },
  );

  test('is left out for plain http, whatever HTTP_PROXY says', async () => {
    const proxy = await startProxy(() => 'HTTP/1.1 500 No\r\n\r\n');
    const { main } = await setup({
      MARKET_API_URL: to(await freePort()),
      HTTP_PROXY: to(proxy.port),
      http_proxy: to(proxy.port),
      HTTPS_PROXY: to(proxy.port),
    });
    const { code, output } = await main('sync', 'usage');
    expect([code, output]).toEqual([69, expect.stringContaining('ECONNREFUSED')]);
    expect(output).not.toContain('proxy');
    expect(proxy.heads).toEqual([]);
  });

  test.each([
    ['NO_PROXY', 'other.example,api.mirror.test'],
    ['NO_PROXY', '.MIRROR.test'],
    ['no_proxy', '*'],
  ])('is left out for an API that %s=%s names, and doctor says so', async (name, hosts) => {
    const proxy = await startProxy(() => 'HTTP/1.1 500 No\r\n\r\n');
    const { main } = await setup({ HTTPS_PROXY: to(proxy.port), [name]: hosts });
    // Nobody knows the name without the proxy.
    const { code, output } = await main('doctor', '--all');
    expect([code, output]).toEqual([69, expect.stringMatching(/\((ENOTFOUND|EAI_AGAIN)\)/)]);
    expect(output).toContain(
      `the API is reached without the proxy 127.0.0.1:${proxy.port}, since NO_PROXY names it`,
    );
    expect(proxy.heads).toEqual([]);
  });
});

describe('an error of the proxy is told as the proxy’s', () => {
  test.each([
    [
      '407',
      'HTTP/1.1 407 Proxy Authentication Required\r\n\r\n',
      /the proxy of HTTPS_PROXY wants a user name and a password \(407\)/,
    ],
    ['502', 'HTTP/1.1 502 Bad Gateway\r\n\r\n', /the proxy of HTTPS_PROXY does not reach the API \(502\)/],
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
    expect([requests(), proxy.heads.length <= 6]).toEqual([0, true]);
  });

  test('refused, or by a certificate that nobody trusts: 69', async () => {
    const proxy = await startProxy(undefined, { overTls: true });
    for (const [HTTPS_PROXY, line] of [
      [
        to(await freePort()),
        /the proxy of HTTPS_PROXY cannot be reached .*\(ECONNREFUSED\); check HTTPS_PROXY/,
      ],
      [
        `https://localhost:${proxy.port}`,
        /the certificate of the proxy of HTTPS_PROXY is not trusted \(.*SELF_SIGNED.*\)/,
      ],
    ] as const) {
      const { main } = await setup({ HTTPS_PROXY });
      expect(await main('sync', 'usage')).toMatchObject({ code: 69, output: expect.stringMatching(line) });
    }
    expect(proxy.heads).toEqual([]);
  });
});

describe('behind the proxy it is the API’s', () => {
  test('a certificate that nobody trusts', async () => {
    const proxy = await startProxy();
    const { main, requests } = await setup({ HTTPS_PROXY: to(proxy.port) });
    const { code, output } = await main('sync', 'usage');
    expect([code, output]).toEqual([
      69,
      expect.stringMatching(/the API's certificate is not trusted .*NODE_EXTRA_CA_CERTS/),
    ]);
    expect(requests()).toBe(0);
  });

  test('an answer that breaks off', async () => {
    const proxy = await startProxy();
    const { trusting } = await setup({ HTTPS_PROXY: to(proxy.port) }, (response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': 100 }).write('{');
      setTimeout(() => response.socket?.destroy(), 20);
    });
    expect(await trusting('sync', 'usage')).toMatchObject({
      code: 69,
      output: expect.stringContaining('the API answers badly'),
    });
  });
});

test.each([
  ['no host', 'http://'],
  ['a password that is not written as in addresses', 'http://desk:pa/ss@proxy.example.com:3128'],
  ['a password like a port', 'http://desk:12/secret@proxy.example.com:3128'],
  ['another kind', `socks5://${inUrl}proxy.example.com:1080`],
])(
  'a wrong HTTPS_PROXY is an error of the settings: 78, one line without its password %s',
  async (_, text) => {
    const { main, requests } = await setup({ HTTPS_PROXY: text });
    for (const command of ['sync', 'doctor']) {
      const { code, output, stderr } = await main(command);
      expect([code, output]).toEqual([78, expect.stringContaining('HTTPS_PROXY')]);
      expect(output).not.toMatch(/secret|pa\/ss|100%|desk/);
      if (command === 'sync') expect(stderr.trim().split('\n')).toHaveLength(1);
    }
    expect(requests()).toBe(0);
    // Commands that call no API do not mind.
    expect((await main('status')).code).not.toBe(78);
  },
);
