/** Memory of the service under load by all keys, over pages near and far, after its kept pages have filled their room. */

import { median } from '../../figures.ts';
import { load } from './load.ts';
import { distinctOffsets } from './pages-from-sql.ts';
import type { Server } from './servers.ts';
import { atMost, type Table, targetHeads } from './table.ts';

const CONNECTIONS = 10;
/** Enough pages of a hundred rows to fill the room of those that are kept. */
const PAGES_TO_FILL = 2_000;
const LOOK_EVERY_MS = 250;

export async function measureMemory(
  serve: Server,
  keys: readonly string[],
  rows: number,
  minutes: number,
): Promise<Table> {
  const offsets = distinctOffsets(0, rows - 100);
  let turn = 0;
  const next = () => {
    turn += 1;
    const job = turn % 2 === 0 ? 'news' : 'ai-signals';
    // Nine of ten ask for what others ask for, too.
    const offset = turn % 10 === 0 ? offsets() : (turn % 50) * 100;
    return { path: `/api/v1/${job}?limit=100&offset=${offset}`, key: keys[turn % keys.length] ?? '' };
  };
  await load(serve, { connections: CONNECTIONS, amount: PAGES_TO_FILL * 10 }, '2xx', next);
  const seen: number[] = [];
  const look = setInterval(() => seen.push(serve.residentMb()), LOOK_EVERY_MS);
  const { perSecond } = await load(serve, { connections: CONNECTIONS, seconds: minutes * 60 }, '2xx', next);
  clearInterval(look);
  const part = Math.max(1, Math.floor(seen.length / 5));
  const [first, last] = [median(seen.slice(0, part)), median(seen.slice(-part))];
  return {
    about: `memory over ${minutes} minutes of ${perSecond.toFixed(0)} pages a second, one in ten of them from SQL, by ${keys.length} keys in turn`,
    heads: ['', 'first fifth, MB', 'last fifth', 'peak', 'ratio', ...targetHeads],
    rows: [
      [
        'serve',
        first.toFixed(0),
        last.toFixed(0),
        Math.max(...seen).toFixed(0),
        (last / first).toFixed(2),
        ...atMost(last / first, 1.1),
      ],
    ],
  };
}
