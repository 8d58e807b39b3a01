/** One pass in a fresh process: `one-pass.ts <job>|ceiling <url> <folder> [what the governor knows]`; prints its figures as JSON. */

import { monitorEventLoopDelay } from 'node:perf_hooks';
import { openApp } from '../../src/app.ts';
import { systemClock } from '../../src/clock.ts';
import { ceiling } from './ceiling.ts';

export type Pass = {
  rows: number;
  rowsPerSecond: number;
  longestStallMs: number;
  peakMb: number;
  /** Of a job. */
  verdict?: string | null;
  changed?: number;
};

const [what = '', url = '', folder = '', learnt = ''] = process.argv.slice(2);
const stalls = monitorEventLoopDelay({ resolution: 1 });

const pass =
  what === 'ceiling'
    ? await measure(async () => ({ rows: await ceiling(url, `${folder}/ceiling.db`) }))
    : await measureMirror();
const peakMb = process.resourceUsage().maxRSS / 1_024;
process.stdout.write(JSON.stringify({ ...pass, peakMb } satisfies Pass));

async function measureMirror() {
  const environment = { MARKET_API_URL: url, MARKET_API_KEY: 'lab', MIRROR_DIR: folder };
  const app = await openApp({ environment, clock: systemClock, random: Math.random });
  if (learnt) app.store.governor.transact(() => ({ state: JSON.parse(learnt), result: undefined }));
  const { signal } = new AbortController();
  try {
    return await measure(async () => {
      const { rows, verdict, inserted, updated } = await app.mirror(app.job(what), signal);
      return { rows, verdict, changed: inserted + updated };
    });
  } finally {
    await app.close();
  }
}

async function measure<Done extends { rows: number }>(work: () => Promise<Done>) {
  stalls.enable();
  const began = performance.now();
  const done = await work();
  const seconds = (performance.now() - began) / 1_000;
  stalls.disable();
  // The histogram counts its own resolution in.
  return { ...done, rowsPerSecond: done.rows / seconds, longestStallMs: stalls.max / 1e6 - 1 };
}
