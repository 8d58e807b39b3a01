import { describe, expect, it, onTestFinished } from 'vitest';
import { sampleKey } from '../../model-api/index.ts';
import { Failure } from '../../src/base/errors.ts';
import { modelApiCommand } from '../../src/commands/model-api.ts';
import { get, openModel } from '../model-api/support.ts';

/** Runs the command until the test ends; `url` is where it serves. */
async function run(args: readonly string[], environment: Record<string, string> = {}) {
  const written = { stdout: '', stderr: '' };
  const stop = new AbortController();
  let serves = () => {};
  const serving = new Promise<void>((resolve) => {
    serves = resolve;
  });
  const output = (name: keyof typeof written) => ({
    write(text: string) {
      written[name] += text;
      if (written.stderr.includes('Ctrl-C')) serves();
    },
  });
  const command = modelApiCommand({
    environment,
    stdout: output('stdout'),
    stderr: output('stderr'),
    signal: stop.signal,
  });
  const ended = command
    .exitOverride()
    .configureOutput({ writeErr: () => {}, writeOut: () => {} })
    .parseAsync(['--port', '0', ...args], { from: 'user' });
  onTestFinished(async () => {
    stop.abort();
    await ended.catch(() => {});
  });
  await Promise.race([ended, serving]);
  const url = /^export MARKET_API_URL=(.+)$/m.exec(written.stdout)?.[1] ?? '';
  return { url, ...written, stop, ended };
}

describe('market-mirror model-api', () => {
  it('serves sample data, says so, and prints what a user has to set', async () => {
    const { url, stdout, stderr } = await run(['--rows', '7']);
    expect(stderr).toContain('all data is sample data');
    expect(stdout).toBe(`export MARKET_API_URL=${url}\nexport MARKET_API_KEY=${sampleKey.key}\n`);
    expect((await get({ url }, '/api/v1/news')).body.pagination.total).toBe(7);
  });

  it('accepts the key of the environment, and never prints it', async () => {
    const { url, stdout, stderr } = await run([], { MARKET_API_KEY: 'my-own-key' });
    expect(stdout + stderr).not.toContain('my-own-key');
    expect((await get({ url }, '/api/v1/usage', 'Bearer my-own-key')).status).toBe(200);
    expect((await get({ url }, '/api/v1/usage')).status).toBe(401);
  });

  it('keeps the limits that are ordered, and spoils what is ordered', async () => {
    const quota = await run(['--quota', '2/1h', '--faults', 'usage=html']);
    const statuses = [];
    for (const name of ['usage', 'news', 'news']) {
      const response = await fetch(`${quota.url}/api/v1/${name}`, {
        headers: { authorization: `Bearer ${sampleKey.key}` },
      });
      statuses.push(`${response.status} ${response.headers.get('content-type')}`);
      await response.text();
    }
    expect(statuses).toEqual([
      '200 text/html; charset=utf-8',
      '200 application/json',
      '429 application/json',
    ]);
    const rate = await run(['--rate', '60/1h+1', '--concurrency', '3', '--latency', '5ms']);
    expect((await get(rate, '/api/v1/usage')).status).toBe(200);
    expect((await get(rate, '/api/v1/usage')).status).toBe(429);
  });

  it.each([
    ['--port', '70000'],
    ['--rows', '-1'],
    ['--seed', '0.5'],
    ['--quota', '100'],
    ['--rate', '0'],
    ['--concurrency', '0'],
    ['--latency', ''],
    ['--changes', 'often'],
    ['--faults', 'nonsense'],
    ['--faults', 'html@0'],
    ['--faults', 'nowhere=html'],
  ])('refuses %s %j in one line', async (option, value) => {
    const failure = await run([option, value]).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(Failure);
    expect(failure).toMatchObject({ kind: 'usage', exitCode: 64 });
    expect(String(failure)).toMatch(new RegExp(`${option}.*`));
    expect(String(failure)).not.toContain('\n');
  });

  it('refuses a port in use, and a key on the command line', async () => {
    const { port } = await openModel();
    await expect(run(['--port', String(port)])).rejects.toThrow(`--port ${port} is in use`);
    await expect(run(['--key', 'secret'])).rejects.toMatchObject({ code: 'commander.unknownOption' });
  });
});
