/** Reports over a mirror that has everything, and a webhook that listens. */

import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { listenOnLoopback } from '../helpers/loopback.ts';
import { setupSynced } from '../helpers/sync-bench.ts';

export type Message = {
  text: string;
  id: string;
  report: string;
  at: string;
  proofs: { job: string; completeAsOf: string; verdict: string }[];
  rows: Record<string, unknown>[];
  more: number;
  file: string | null;
  receipt: { rows: number; sha256?: string; sources: unknown[] };
};

/** Nobody may ever read it anywhere. */
export const SECRET = 'canary-hook-77c1';

export async function startWebhook() {
  const hook = {
    ...{ status: 200, headers: {} as Record<string, string>, messages: [] as Message[] },
    ...{ answerAfterMs: () => 0, url: '' },
  };
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (piece) => {
      text += piece;
    });
    request.on('end', () => {
      if (hook.status === 200) hook.messages.push(JSON.parse(text));
      setTimeout(() => response.writeHead(hook.status, hook.headers).end(), hook.answerAfterMs());
    });
  });
  const { url, close } = await listenOnLoopback(server);
  onTestFinished(close);
  return Object.assign(hook, { url: `${url}/services/${SECRET}` });
}

/** @param files of the folder of reports, by their names without `.sql`. */
export async function setupReports(files: Record<string, string>, rows = 130) {
  const bench = await setupSynced(rows);
  const hook = await startWebhook();
  const folder = join(bench.cwd, 'reports');
  mkdirSync(folder, { mode: 0o755 });
  const put = (name: string, text: string) => {
    const file = join(folder, `${name}.sql`);
    writeFileSync(file, text);
    chmodSync(file, 0o644);
  };
  for (const [name, text] of Object.entries(files)) put(name, text);
  const settings = { MIRROR_REPORTS: folder, MIRROR_NOTIFY: hook.url };
  const run = (args: string[], changes: Record<string, string> = {}) =>
    bench.run(args, { ...settings, ...changes });
  return {
    ...bench,
    hook,
    folder,
    settings,
    put,
    run,
    report: (...args: string[]) => run(['report', ...args]),
    to: join(bench.environment.MIRROR_DIR, 'reports'),
  };
}
