/** Keeps the overview current: asks for it every few seconds while the page is visible, and again while the service is away. */

import type { Overview } from '../src/serve/page/wire.ts';
import { setServiceTime } from './clock.ts';
import { fetchOverview, type QueryProblem } from './service.ts';
import { store, useStore } from './store.ts';

type Live = {
  /** The latest there was, also while the service is away. */
  overview: Overview | null;
  /**
   * `connecting`: nothing is there yet. `live`: it is current. `away`: no answer, and it is tried again. `unread`: the service cannot
   * read the mirror. `login`: there is no session.
   */
  connection: 'connecting' | 'live' | 'away' | 'unread' | 'login';
  /** Why, where it is not `live`. */
  problem: QueryProblem | null;
  /** Grows when something was committed: what to ask again by. */
  version: number;
};

export const live = store<Live>({ overview: null, connection: 'connecting', problem: null, version: 0 });
export const useLive = (): Live => useStore(live);

const POLL_MS = 5_000;
const RETRY = { firstMs: 1_000, mostMs: 15_000 };

/** Begins, once a page. */
export function keepLive(): void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isUnderWay = false;
  let failures = 0;

  const askIn = (ms: number) => {
    clearTimeout(timer);
    timer = setTimeout(refresh, ms);
  };
  const askSoon = () => {
    if (!isUnderWay && !document.hidden) askIn(0);
  };

  async function refresh(): Promise<void> {
    if (isUnderWay || document.hidden) return;
    isUnderWay = true;
    const { value, problem } = await fetchOverview(AbortSignal.timeout(RETRY.mostMs));
    isUnderWay = false;
    failures = problem ? failures + 1 : 0;
    if (value) {
      const { overview: before, version } = live.get();
      if (value !== before) setServiceTime(value.at);
      const isNew = before !== null && before.commit !== value.commit;
      show({ overview: value, connection: 'live', problem: null, version: version + Number(isNew) });
      return askIn(POLL_MS);
    }
    const { kind } = problem;
    // Only its time limit ends such a call.
    const connection = kind === 'stopped' ? 'away' : kind === 'login' || kind === 'away' ? kind : 'unread';
    show({ connection, problem });
    askIn(Math.min(RETRY.mostMs, RETRY.firstMs * 2 ** (failures - 1)));
  }

  document.addEventListener('visibilitychange', askSoon);
  addEventListener('online', askSoon);
  void refresh();
}

function show(changes: Partial<Live>): void {
  const before = live.get();
  const isSame = Object.entries(changes).every(([name, value]) => before[name as keyof Live] === value);
  if (!isSame) live.set({ ...before, ...changes });
}
