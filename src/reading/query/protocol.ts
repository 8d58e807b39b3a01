/** What the asking process and the one that runs the query say to each other. */

import type { FailureKind } from '../../errors.ts';
import type { Cell, Column } from '../../output/answer.ts';
import type { Source } from './sources.ts';
import type { Params } from './statement.ts';

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

/** `seq` numbers the latest change that the answer can show, see the view `changes`. */
export type Opened = { columns: Column[]; sources: Source[]; seq: number };

export type Asked = Question | 'more';

/** An empty batch is the end. */
export type Answered =
  | { opened: Opened }
  | { rows: Cell[][] }
  | { failed: { kind: FailureKind; message: string } };
