/** What the asking process and the one that runs the query say to each other. */

import type { FailureKind } from '../../errors.ts';
import type { Source } from './sources.ts';
import type { Params } from './statement.ts';
import type { Holding } from './survey.ts';

export type Question = {
  /** The folder of the mirror. */
  dir: string;
  sql: string;
  params: Params;
  /** The mirrored tables with their jobs. */
  tables: Readonly<Record<string, string>>;
  /** The time to look back to, ISO 8601 UTC with milliseconds, or null for now. */
  asOf: string | null;
  /** Look at every row first, to tell what each column holds: `Column.holds`. */
  survey?: boolean;
};

/** A value of SQLite: an integer beyond the safe ones of JavaScript is a bigint, a blob bytes. */
export type Cell = string | number | bigint | Uint8Array | null;

export type Column = {
  name: string;
  /** The declared type of the column it comes from, such as `TEXT`; null for an expression. */
  type: string | null;
  holds?: Holding;
};

/** `seq` numbers the latest change that the answer can show, see the view `changes`. */
export type Opened = { columns: Column[]; sources: Source[]; seq: number };

export type Asked = Question | 'more';

/** An empty batch is the end. */
export type Answered =
  | { opened: Opened }
  | { rows: Cell[][] }
  | { failed: { kind: FailureKind; message: string } };
