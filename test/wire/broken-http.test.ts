/** An API that answers in broken HTTP: it is there, and answers badly. */

import type { Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { pageFor, setupRaw } from '../helpers/upstream.ts';

const OK = 'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n';

/** The page that a request asks for, as whole HTTP. */
function whole(request: string): string {
  const [, url = ''] = /^GET (\S+)/.exec(request) ?? [];
  const body = pageFor({ url }, 250);
  return `${OK}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`;
}

const ends = (text: string) => (socket: Socket) => void socket.end(text, 'latin1');
const writes = (text: string) => (socket: Socket) => void socket.write(text, 'latin1');

const broken: [string, (socket: Socket) => void][] = [
  ['a control character in a header', writes(`${OK}Set-Cookie: a\x01b\r\nContent-Length: 2\r\n\r\n{}`)],
  [
    'Content-Length before chunked',
    writes(`${OK}Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`),
  ],
  ['two Content-Lengths', writes(`${OK}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}`)],
  ['a storm of 100 Continue', writes('HTTP/1.1 100 Continue\r\n\r\n'.repeat(1_000))],
  [
    'an unasked upgrade',
    writes('HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n'),
  ],
  ['a body that is cut', ends(`${OK}Content-Length: 200\r\n\r\n{"rows":[`)],
  ['chunks without an end', ends(`${OK}Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n`)],
  ['headers without an end', writes(`HTTP/1.1 200 OK\r\nX-A: ${'a'.repeat(100_000)}`)],
  ['the text of HTTP/0.9', ends('<html>Hello</html>')],
  ['a status that is none', ends('HTTP/1.1 OK\r\n\r\n')],
];

describe('an API that answers with', () => {
  test.each(broken)('%s is said to answer badly: 69, in bounded calls', async (_, answer) => {
    const bench = await setupRaw(answer);
    const { code, stderr } = await bench.sync();
    expect([code, stderr]).toEqual([69, expect.stringMatching(/news: the API answers badly \(.+\)/)]);
    expect(stderr).not.toMatch(/cannot be reached|MARKET_API_URL/);
    expect(bench.requests).toBeLessThanOrEqual(4);
    expect((await bench.sync('--no-wait')).code).toBe(69);
  });

  // The rule is of every bad answer alike.
  test('headers that are none is said to do so by status, until it is well', async () => {
    const bench = await setupRaw(ends('HTTP/1.1 OK\r\n\r\n'));
    await bench.sync();
    const { problems, exitCode } = await bench.status();
    expect(exitCode).toBe(69);
    expect(problems.find((problem) => problem.code === 'unreachable')?.message).toMatch(
      /^the API answers badly since .+Z \(.+\)$/,
    );
    bench.reply = (socket, __, request) => void socket.write(whole(request));
    bench.clock.advance(3_600_000);
    expect((await bench.sync()).code).toBe(0);
    expect(bench.rows()).toBe(250);
    expect((await bench.status()).problems.map((problem) => problem.code)).not.toContain('unreachable');
  });

  test.each(broken.filter((_, nth) => nth % 4 === 0))('%s once is asked again', async (_, answer) => {
    const bench = await setupRaw((socket, nth, request) => {
      if (nth === 2) answer(socket);
      else socket.write(whole(request));
    });
    expect((await bench.sync()).code).toBe(0);
    expect(bench.rows()).toBe(250);
  });

  test('more than its Content-Length is read up to that', async () => {
    const bench = await setupRaw((socket, _, request) => void socket.write(`${whole(request)}more`));
    expect((await bench.sync()).code).toBe(0);
    expect(bench.rows()).toBe(250);
  });

  test('less by its Content-Length than by its JSON breaks the contract: 65', async () => {
    const bench = await setupRaw((socket) => void socket.write(`${OK}Content-Length: 9\r\n\r\n{"rows":[]}`));
    const { code, stderr } = await bench.sync();
    expect([code, stderr]).toEqual([65, expect.stringContaining('not valid JSON')]);
  });
});

test('an API that says nothing before it hangs up cannot be reached, as before', async () => {
  const bench = await setupRaw((socket) => void socket.end());
  const { code, stderr } = await bench.sync();
  expect([code, stderr]).toEqual([69, expect.stringContaining('cannot be reached or does not answer')]);
});

test('doctor says that the API answers badly, once, and asks no further', async () => {
  const bench = await setupRaw(ends('<html>Hello</html>'));
  const { code, stdout } = await bench.run('doctor', '--all');
  expect(stdout).toMatch(/problem\s+usage\s+the API answers badly/);
  expect(stdout).toMatch(/skipped\s+news\s+not asked, since the API answers badly/);
  expect([code, bench.requests]).toEqual([69, 1]);
});
