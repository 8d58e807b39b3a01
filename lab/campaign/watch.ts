/** An operator who asks `status` again and again. It must never be green while rows are older than it says. */

import type { Status } from '../../src/reading/status.ts';
import { count } from './world/daemon.ts';
import type { World } from './world.ts';

export type Watch = {
  /** How often `status` was green although rows were older than it said. */
  lies: string[];
  counts: { asked: number; green: number };
  /** How often it was not green, by exit code. */
  others: Map<string, number>;
  stop(): Promise<void>;
};

/** Ages are rounded to tenths of a second, and libfaketime looks at its file once a second. */
const TOLERANCE_MS = 2_500;
const PAUSE_MS = 500;

export function watch(world: World): Watch {
  const { journal, lists } = world.upstream;
  const lies: string[] = [];
  const counts = { asked: 0, green: 0 };
  const others = new Map<string, number>();
  let isStopped = false;

  async function look(): Promise<void> {
    const asked = Date.now();
    const { code, stdout } = await world.cli('status', '--json');
    counts.asked += 1;
    if (code !== 0) return count(others, `exit ${code}`);
    counts.green += 1;
    const { datasets } = JSON.parse(stdout) as Status;
    // Read after the answer: by then the mirror can only be newer, so a row that is too old now was too old then.
    const shown = new Map(lists.map(({ name }) => [name, world.shown(name)]));
    await world.upstream.heard();
    for (const { name } of lists) {
      const ageMs = (datasets.find(({ job }) => job === name)?.ageSeconds ?? Number.NaN) * 1_000;
      const old = journal.shownTooOld(name, shown.get(name) ?? new Map(), asked - ageMs - TOLERANCE_MS);
      if (old.length > 0 || Number.isNaN(ageMs))
        lies.push(
          `status was green with ${name} ${ageMs} ms old, but ${old.length} rows were older, such as ${old[0]}`,
        );
    }
  }

  async function run(): Promise<void> {
    while (!isStopped) {
      try {
        await look();
      } catch {
        // The database was taken away under the reader, as some attacks do.
        count(others, 'unreadable');
      }
      await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
    }
  }
  const running = run();
  return {
    lies,
    counts,
    others,
    async stop() {
      isStopped = true;
      await running;
    },
  };
}
