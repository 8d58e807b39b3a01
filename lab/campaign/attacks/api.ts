/** Attacks from upstream: answers that fail, do not come, or never end. */

import { signal } from '../world/processes.ts';
import type { Attack } from './attack.ts';

const answers = (
  name: string,
  about: string,
  faults: string,
  lasts: Attack['lasts'],
  kills = true,
): Attack => ({
  name,
  about,
  lasts,
  kills,
  async begin({ upstream }) {
    await upstream.faults(faults);
    return () => upstream.faults('');
  },
});

export const apiAttacks: readonly Attack[] = [
  answers(
    'bad-answers',
    'every third answer is broken: 503, a reset, a cut body, a web page',
    '503:0.1,reset:0.1,reset-mid-body:0.1,truncated:0.05,html:0.05',
    [2_000, 6_000],
  ),
  answers('slow-answers', 'every answer takes half a second', 'slow(500ms)', [3_000, 6_000]),
  // Longer than the minute after which a call is given up.
  answers('drip', 'bodies that come a kilobyte a second', 'drip(1s)', [65_000, 70_000], false),
  answers('endless', 'bodies that never end', 'endless', [65_000, 70_000], false),
  {
    name: 'pause-api',
    about: 'SIGSTOP of the API: connections open, no answer',
    lasts: [1_000, 6_000],
    kills: true,
    async begin({ upstream }) {
      signal(upstream.pid, 'SIGSTOP');
      return () => void signal(upstream.pid, 'SIGCONT');
    },
  },
];
