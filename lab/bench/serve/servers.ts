/** The servers that are compared, each in a process of its own. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../../../test/helpers/loopback.ts';

export type Server = {
  url: string;
  /** Processor time that it has used, user and system. */
  cpuMs(): number;
  /** Memory that it has. */
  residentMb(): number;
  end(): Promise<void>;
};

const cli = fileURLToPath(new URL('../../../dist/src/cli.js', import.meta.url));
const bare = fileURLToPath(new URL('bare-server.ts', import.meta.url));

/** `market-mirror serve` as an operator runs it: what `npm run build` made, its log in a file. @param settings besides. */
export async function startServe(folder: string, settings: Record<string, string> = {}): Promise<Server> {
  const port = await freePort();
  const child = spawn(process.execPath, [cli, 'serve', '--port', String(port)], {
    env: { PATH: process.env['PATH'], MIRROR_DIR: folder, ...settings },
    cwd: folder,
    stdio: ['ignore', 'ignore', openSync(join(folder, 'serve.log'), 'a')],
  });
  return await ready(child, `http://127.0.0.1:${port}`);
}

/** `node:http` alone: answers everything with the bytes of a file, from memory. */
export async function startBare(file: string): Promise<Server> {
  const port = await freePort();
  const child = spawn(process.execPath, ['--import', 'tsx', bare, String(port), file], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  return await ready(child, `http://127.0.0.1:${port}`);
}

async function ready(child: ChildProcess, url: string): Promise<Server> {
  for (;;) {
    if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}`);
    const answer = await fetch(`${url}/healthz`).catch(() => undefined);
    if (answer?.ok) break;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const read = (file: string) => readFileSync(`/proc/${child.pid}/${file}`, 'utf8');
  return {
    url,
    cpuMs() {
      // proc(5): after the name, in hundredths of a second.
      const [user, system] = read('stat')
        .replace(/^.*\) /, '')
        .split(' ')
        .slice(11, 13)
        .map(Number);
      return ((user ?? 0) + (system ?? 0)) * 10;
    },
    residentMb: () => Number(/VmRSS:\s+(\d+)/.exec(read('status'))?.[1]) / 1_024,
    async end() {
      const ended = once(child, 'exit');
      child.kill();
      await ended;
    },
  };
}
