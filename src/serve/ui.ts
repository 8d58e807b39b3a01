/** What the page of `web/` is told, and who may see it: its document, what it loads, and a small private interface. */

import { fileURLToPath } from 'node:url';
import type { Clock } from '../clock.ts';
import { Failure } from '../errors.ts';
import { type Dataset, type ListedJob, tablesOf } from '../job-list.ts';
import type { Spending } from '../plan.ts';
import { readDaemon } from '../reading/status.ts';
import type { PageAnswer, PageAsked, PageEndpoint } from './http/app.ts';
import type { Admission } from './service/admission.ts';
import { errorAnswer } from './service/answers.ts';
import { Unfit } from './ui/asked.ts';
import { type AnswerTo, openDoor } from './ui/door.ts';
import { openDownloads } from './ui/downloads.ts';
import { openEvents } from './ui/events.ts';
import { busyAnswer, failedAnswer } from './ui/failed.ts';
import { openQueryProcesses } from './ui/query-processes.ts';
import { answerQuestion, openTurns } from './ui/questions.ts';
import { openReader } from './ui/reader.ts';
import { linkPath, openTokens, type Viewer } from './ui/sessions.ts';
import { openSite } from './ui/site.ts';

/** Who may see it: nobody, those who have a link or a key, everybody on this machine. */
export type PageAccess = 'off' | 'token' | 'open';

export type PageParts = {
  dir: string;
  jobs: readonly ListedJob[];
  datasets: readonly Dataset[];
  spending: Spending;
  access: PageAccess;
  admission: Pick<Admission, 'identify' | 'enter'>;
  /** Of market-mirror. */
  version: string;
  clock: Clock;
  /** Another number when something was committed; undefined while the mirror cannot be read. */
  mirrorVersion(): number | undefined;
  /** Told of what must not happen. */
  failed(thrown: unknown): void;
  /** Of `index.html`; that of the build unless given. */
  folder?: string | undefined;
  /** How long a question may take; a minute unless given. */
  timeoutMs?: number | undefined;
};

export type Page = {
  readonly endpoints: readonly PageEndpoint[];
  /** The path of a new link for this machine, which must not come into a log; null where none is needed. */
  link(): string | null;
  /** Ends what would go on for as long as somebody listens. */
  drain(): void;
  close(): Promise<void>;
};

const documents = [
  '/',
  '/datasets/:job',
  '/datasets/:job/rows/:key',
  '/walks',
  '/walks/:id',
  '/calls',
  '/problems',
  '/sql',
];

const QUESTION_MS = 60_000;

/** Until the mirror may be read again. */
const UNREADABLE_SECONDS = 2;

export function openPage(parts: PageParts): Page {
  const { dir, jobs, datasets, spending, version, access, admission, clock, mirrorVersion, failed } = parts;
  if (access === 'off') return { endpoints: [], link: () => null, drain() {}, async close() {} };
  const tokens = openTokens(dir);
  const door = openDoor({ access, tokens, admission, clock });
  const site = openSite(parts.folder ?? builtFolder());
  const processes = openQueryProcesses();
  const turns = openTurns(processes, admission, clock);
  const reader = openReader({ dir, jobs, datasets, spending, version, access }, clock, mirrorVersion);
  const events = openEvents(
    () => JSON.stringify([mirrorVersion(), unlessFailed(() => readDaemon(dir))]),
    clock.now,
  );
  const tables = tablesOf(jobs);
  const questions = {
    dir,
    tables,
    turns,
    clock,
    timeoutMs: parts.timeoutMs ?? QUESTION_MS,
    failed,
  };

  const by = `market-mirror ${version}`;
  const downloads = openDownloads({ dir, tables, turns, clock, by, failed });

  async function read(what: 'overview' | 'schema'): Promise<PageAnswer> {
    const headers = { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' };
    return { status: 200, headers, body: await reader.read(what) };
  }

  function listen(asked: PageAsked, { owner }: Viewer): PageAnswer {
    // While that cannot be looked up, he stays.
    const isWelcome = () => unlessFailed(() => ({ viewer: door.viewerOf(asked) })) ?? { viewer: true };
    const body = events.listen(owner, asked.gone, () => isWelcome().viewer !== undefined);
    if (!body) return busyAnswer('listeners');
    const headers = {
      'Content-Type': 'text/event-stream',
      'Cache-Control': 'no-store',
      'X-Accel-Buffering': 'no',
    };
    return { status: 200, headers, body };
  }

  function document(asked: PageAsked): Promise<PageAnswer> {
    processes.warm();
    return site.document(asked);
  }

  const reading = ['GET', 'HEAD'];
  const open = (
    name: string,
    path: string,
    methods: readonly string[],
    answer: PageEndpoint['answer'],
  ): PageEndpoint => ({ name, path, methods, answer: told(answer) });
  const guarded = (name: string, path: string, methods: readonly string[], answer: AnswerTo) =>
    open(name, path, methods, door.guard(answer));

  return {
    endpoints: [
      ...documents.map((path) => open('page', path, reading, (asked) => door.enter(asked, document))),
      open(
        'page-assets',
        '/assets/:name',
        reading,
        async (asked) => (await site.asset(asked.param('name'), asked)) ?? errorAnswer('not_found'),
      ),
      open('page-login', '/page/login', ['POST'], door.login),
      open('page-logout', '/page/logout', ['POST'], door.logout),
      guarded('page-overview', '/page/overview', reading, () => read('overview')),
      guarded('page-schema', '/page/schema', reading, () => read('schema')),
      guarded('page-events', '/page/events', ['GET'], listen),
      guarded('page-query', '/page/query', ['POST'], (asked, viewer) =>
        answerQuestion(asked, viewer, questions),
      ),
      guarded('page-downloads', '/page/downloads', ['POST'], downloads.order),
      guarded('page-downloads', '/page/downloads/:id', ['GET'], downloads.take),
      guarded('page-downloads', '/page/downloads/:id/receipt', reading, downloads.receipt),
    ],
    link: () => (access === 'open' ? null : linkPath(tokens.issueLink(clock.now()))),
    drain: events.end,
    async close() {
      events.end();
      processes.close();
      await reader.close();
      tokens.close();
    },
  };
}

/** What is wrong is told in the words of `QueryLine`. */
function told(answer: PageEndpoint['answer']): PageEndpoint['answer'] {
  return async (asked) => {
    try {
      return await answer(asked);
    } catch (thrown) {
      if (thrown instanceof Unfit) return failedAnswer(thrown.status, 'usage', thrown.message);
      if (!(thrown instanceof Failure) || thrown.kind === 'bug') throw thrown;
      const { kind, message } = thrown;
      return kind === 'usage'
        ? failedAnswer(400, kind, message)
        : failedAnswer(503, kind, message, UNREADABLE_SECONDS);
    }
  };
}

/** Between calls there is nobody to be told of a failure; the next call is. */
function unlessFailed<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch (thrown) {
    if (thrown instanceof Failure) return undefined;
    throw thrown;
  }
}

function builtFolder(): string {
  const isSource = import.meta.url.endsWith('.ts');
  return fileURLToPath(new URL(isSource ? '../../dist/web/' : '../../web/', import.meta.url));
}
