/** Keeps the overview current: asks for it when the service says that something is new, and again while the service is away. */

import type { Overview, PageListening } from '../src/serve/ui/wire.ts';
import { localNow, setServiceTime } from './clock.ts';
import { fetchOverview, type QueryProblem } from './service.ts';
import { store, useStore } from './store.ts';

type Live = {
  /** The latest there was, also while the service is away. */
  overview: Overview | null;
  /**
   * `connecting`: not all of it is there yet. `live`: changes come by themselves. `stale`: they do not, and it is tried again. `away`: no
   * answer, and it is tried again. `unread`: the service cannot read the mirror. `login`: there is no session.
   */
  connection: 'connecting' | 'live' | 'stale' | 'away' | 'unread' | 'login';
  /** Why, where it is not `live`. */
  problem: QueryProblem | null;
  /** Grows, once a second at most, when something may be new: what to ask again by. */
  version: number;
};

export const live = store<Live>({ overview: null, connection: 'connecting', problem: null, version: 0 });
export const useLive = (): Live => useStore(live);

/** While a dataset is walked, pages come faster than anyone reads. */
const LEAST_BETWEEN_MS = 1_000;
/** Ages and turns move without an event. */
const MOST_BETWEEN_MS = 30_000;
const RETRY = { firstMs: 1_000, mostMs: 15_000 };

type Events = 'opening' | 'open' | 'lost';
const byEvents = { opening: 'connecting', open: 'live', lost: 'stale' } as const;

/** Begins, once a page. */
export function keepLive(): void {
  let query = { at: 0, isUnderWay: false };
  /** Since the last question was asked. */
  let hasNews = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let failures = 0;
  let events: Events = 'opening';
  /** Since which commit changes come by themselves; undefined once the overview was found to be as new. */
  let listeningSince: Overview['commit'] | undefined;

  const askIn = (ms: number) => {
    clearTimeout(timer);
    timer = setTimeout(refresh, ms);
  };
  const askSoon = () => {
    if (!query.isUnderWay && !document.hidden) askIn(Math.max(0, query.at + LEAST_BETWEEN_MS - localNow()));
  };
  const hear = () => {
    hasNews = true;
    askSoon();
  };
  /** What was committed after the overview was read, and before we listened, is asked for. */
  const closeGap = () => {
    const { overview } = live.get();
    if (listeningSince === undefined || !overview) return;
    if (overview.commit !== listeningSince) hear();
    listeningSince = undefined;
  };

  async function refresh(): Promise<void> {
    if (query.isUnderWay) return;
    query = { at: localNow(), isUnderWay: true };
    const isNew = hasNews;
    hasNews = false;
    const { value, problem } = await fetchOverview(AbortSignal.timeout(RETRY.mostMs));
    query = { ...query, isUnderWay: false };
    failures = problem ? failures + 1 : 0;
    if (value) {
      setServiceTime(value.at);
      const version = live.get().version + (isNew ? 1 : 0);
      show({ overview: value, connection: byEvents[events], problem: null, version });
      closeGap();
      // It may lack what came meanwhile.
      return askIn(hasNews ? LEAST_BETWEEN_MS : MOST_BETWEEN_MS);
    }
    hasNews ||= isNew;
    const { kind } = problem;
    // Only its time limit ends such a call.
    const connection = kind === 'stopped' ? 'away' : kind === 'login' || kind === 'away' ? kind : 'unread';
    show({ connection, problem });
    askIn(Math.min(RETRY.mostMs, RETRY.firstMs * 2 ** (failures - 1)));
  }

  keepEvents({
    news: hear,
    listening({ commit }) {
      listeningSince = commit;
      closeGap();
    },
    became(next) {
      const wasOpening = events === 'opening';
      events = next;
      if (wasOpening && live.get().connection === 'connecting' && live.get().overview)
        show({ connection: byEvents[events] });
      // The answer has what was missed meanwhile, and shows whether the service is there.
      else hear();
    },
  });
  document.addEventListener('visibilitychange', askSoon);
  addEventListener('online', askSoon);
  void refresh();
}

function show(changes: Partial<Live>): void {
  live.set({ ...live.get(), ...changes });
}

/** The browser connects again by itself, but for answers that refuse; then we do. */
function keepEvents(on: {
  news(): void;
  listening(since: PageListening): void;
  became(next: Events): void;
}): void {
  const source = new EventSource('/page/events');
  source.addEventListener('message', on.news);
  source.addEventListener('listening', ({ data }) => on.listening(JSON.parse(data) as PageListening));
  source.addEventListener('open', () => on.became('open'));
  source.addEventListener('error', () => {
    on.became('lost');
    if (source.readyState !== EventSource.CLOSED) return;
    setTimeout(() => keepEvents(on), RETRY.mostMs);
  });
}
