/** One measurement in a fresh process: `pass.ts ceiling|mirror <url> <folder> [what the governor knows]`; prints its figures as JSON. */

import { monitorEventLoopDelay } from 'node:perf_hooks';
import { openApp } from '../../src/app.ts';
import { systemClock } from '../../src/clock.ts';
import { ceiling } from './ceiling.ts';

const [what, url = '', folder = '', learnt = ''] = process.argv.slice(2);
const stalls = monitorEventLoopDelay({ resolution: 1 });

const figures =
  what === 'ceiling' ? await measure(() => ceiling(url, `${folder}/ceiling.db`)) : await measureMirror();
process.stdout.write(`${JSON.stringify({ ...figures, peakMb: process.resourceUsage().maxRSS / 1024 })}\n`);

async function measureMirror() {
  const environment = { MARKET_API_URL: url, MARKET_API_KEY: 'bench', MIRROR_DIR: folder };
  const app = await openApp({ environment, clock: systemClock, random: Math.random });
  if (learnt) app.store.governor.transact(() => ({ state: JSON.parse(learnt), result: undefined }));
  const { signal } = new AbortController();
  try {
    return await measure(async () => (await app.mirror(app.job('ai-signals'), signal)).rows);
  } finally {
    await app.close();
  }
}

async function measure(work: () => Promise<number>) {
  stalls.enable();
  const began = performance.now();
  const rows = await work();
  const seconds = (performance.now() - began) / 1_000;
  stalls.disable();
  // The histogram counts its own resolution in.
  return { rows, rowsPerSecond: rows / seconds, longestStallMs: stalls.max / 1e6 - 1 };
}
