/** What the page and the service say to each other: types alone, for both. Times are ISO 8601 UTC. */

import type { FailureKind } from '../../base/errors.ts';
import type { PlanJson } from '../../plan.ts';
import type { Kind } from '../../reading/columns.ts';
import type { ExportFormat } from '../../reading/export.ts';
import type { Source } from '../../reading/query.ts';
import type { Status } from '../../reading/status.ts';

export type { Source } from '../../reading/query.ts';
export type { DatasetStatus, Phrase, Problem, ReportStatus, SinkStatus } from '../../reading/status.ts';
export type { SinkName } from '../../sinks.ts';

/** Who may see the page: nobody, those who have a link or a key, everybody on this machine. */
export type PageAccess = 'off' | 'token' | 'open';

/** `GET /page/overview`, with an ETag: what `status --json` and `plan --json` print, and the last day beside them. */
export type Overview = {
  /** Of market-mirror. */
  version: string;
  /** `open`: everybody on this machine sees it, and there is no session to end. */
  access: Exclude<PageAccess, 'off'>;
  /** Nothing is older than this commit, whose number another commit changes; null while the mirror cannot be read. */
  commit: number | null;
  at: string;
  status: Status;
  plan: PlanJson;
  datasets: readonly DatasetDay[];
};

export type DatasetDay = {
  job: string;
  /** The last walks, oldest first. */
  walks: readonly WalkMark[];
  /** Every hour of the last day, oldest first; none is left out. */
  changes: readonly { hour: string; inserted: number; updated: number; deleted: number }[];
};

export type WalkMark = {
  id: number;
  status: 'running' | 'waiting' | 'complete' | 'failed';
  verdict: 'snapshot' | 'verified' | 'union' | null;
  startedAt: string;
  finishedAt: string | null;
  rows: number;
  apiCalls: number;
  error: string | null;
};

/** `POST /page/logout`: 204; ends the session of the caller. */

/** `GET /page/schema`: what there is to ask for. */
export type Schema = {
  jobs: readonly {
    name: string;
    table: string;
    history: string | null;
    /** Whether the specification shows its fields; else columns come as fields are seen. */
    isSpecified: boolean;
    /** Columns that make no version. */
    volatile: readonly string[];
    /** The columns that the job's file wants shown first; empty: the page finds them by rule. */
    shown: readonly string[];
  }[];
  tables: readonly {
    name: string;
    kind: 'dataset' | 'history' | 'bookkeeping' | 'view';
    columns: readonly {
      name: string;
      type: string;
      /** What it means, in Markdown, where that is known. */
      about?: string | undefined;
      /** What its values are, where more is known than the declared type. */
      kind?: Kind | undefined;
    }[];
  }[];
  /** How far back each dataset can be shown; null where nothing has been dropped. */
  historyFrom: Readonly<Record<string, string | null>>;
};

/** One of `GET /page/reports`, beside what `status` says of it. `GET /page/reports/<name>/file` is its last file. */
export type PageReport = {
  report: string;
  /** The whole file; empty where that is wrong. */
  sql: string;
  /** `on change`, `every 1h` or a cron pattern (UTC). */
  run: string | null;
  /** Null where only a change makes it due. */
  nextRun: string | null;
  /** Its last file, below the folder of these; null where it cannot be read. */
  file: string | null;
};

/**
 * `POST /page/query`: in the cage of `market-mirror query`, in a process of its own that ends with the connection. In SQL, or as
 * `<table>?<question>` in the grammar of `/mirror/v1`; with `facets` the rows are counted, see `sqlOf` in `ask.ts`.
 */
export type PageQuestion = (PageSql | { ask: string; facets?: readonly string[] }) & {
  /** The time to look back to; null for now. */
  asOf?: string | null;
  /** At most so many rows are sent. */
  limit: number;
};

export type PageSql = { sql: string; params?: Readonly<Record<string, string | number | null>> };

/**
 * The answer, one line of JSON each: `opened`, some `rows`, `end`; or `failed` at any place. An empty line says that it goes
 * on. `isCut`: there are more rows; `notes`: what is to be known of those that came, such as that cells were cut. Every other
 * answer than 200 that a route below `/page/` gives is a line `failed`: 401 without a session, 429 above a limit of the account,
 * 503 for busy. What no route answers, such as a body that comes too slowly, is an error as of the API.
 */
export type QueryLine =
  | { opened: OpenedQuery }
  | { rows: readonly (readonly PageCell[])[] }
  | { end: { rows: number; isCut: boolean; notes: readonly string[]; ms: number } }
  | { failed: { kind: FailureKind; message: string } };

export type OpenedQuery = {
  columns: readonly { name: string; type: string | null }[];
  sources: readonly Source[];
  /** The latest change that the answer can show: as of its time the same is answered again. */
  seq: number;
  notes: readonly string[];
  /** Of what was not asked in SQL: all rows that fit, in SQL. */
  whole?: Required<PageSql>;
};

/** A large integer keeps its digits; bytes are shown as their number; an infinite number is a text. A text is cut at a megabyte, and says so. */
export type PageCell = string | number | null | { integer: string } | { bytes: number };

/** `GET /page/query.json?sql=…&params=…&asOf=…`, or `?ask=…&asOf=…`: the same as a list of JSON, an object a row. */

/**
 * `GET /page/downloads/<id>?sql=…&params=…&asOf=…&format=…&name=…`, or with `ask` for `sql`: as a file, cut off where it breaks. `name`: how the file's name
 * begins. The browser makes up the id; behind it, `/receipt` is 409 before the file is whole, and 410 where it broke off.
 */
export type DownloadFormat = ExportFormat;
