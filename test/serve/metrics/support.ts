/** What the service tells Prometheus, as Prometheus reads it. */

import { type ServeBenchOptions, setupServe } from '../../helpers/serve-bench.ts';
import { getter } from '../client.ts';

/** The samples by name and labels, as they stand in the text: `market_mirror_dataset_rows{job="news"}`. */
export type Samples = Map<string, number>;

export function samplesIn(text: string): Samples {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => {
      const at = line.lastIndexOf(' ');
      return [line.slice(0, at), Number(line.slice(at + 1))];
    }),
  );
}

export const everyJob = ['ai-signals', 'news', 'smart-wallets', 'meme-signals', 'usage'];

/** A service that is watched; `scrape` waits until what was kept of the last one is forgotten. */
export async function setupWatched(options: ServeBenchOptions = {}) {
  const serve = await setupServe({ rows: 30, walked: everyJob, ...options });
  const { bench, url } = serve;
  const read = async () => (await getter(url)('/metrics')).bytes.toString();
  return {
    ...serve,
    read,
    async scrape(): Promise<Samples> {
      bench.clock.advance(1_000);
      return samplesIn(await read());
    },
    ready: async () => {
      bench.clock.advance(1_000);
      return getter(url)('/readyz');
    },
  };
}
