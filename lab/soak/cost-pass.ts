/** One pass in a fresh process: `cost-pass.ts <url> <folder> <job>`; prints what it took as JSON. */

import { openApp } from '../../src/app.ts';
import { systemClock } from '../../src/clock.ts';

const [url = '', folder = '', job = ''] = process.argv.slice(2);
const environment = { MARKET_API_URL: url, MARKET_API_KEY: 'soak', MIRROR_DIR: folder };
const app = await openApp({ environment, clock: systemClock, random: Math.random });
try {
  const { signal } = new AbortController();
  const { rows, verdict, inserted, updated, apiCalls } = await app.mirror(app.job(job), signal);
  const peakMb = process.resourceUsage().maxRSS / 1_024;
  process.stdout.write(JSON.stringify({ rows, verdict, changed: inserted + updated, apiCalls, peakMb }));
} finally {
  await app.close();
}
