/** What the columns of an answer hold: SQLite types values, not columns, and typed formats need the latter. */

import { type Holding, microsOf } from '../../output/answer.ts';
import type { Params, Statement } from './statement.ts';

/** Integers that no double holds exactly are told from those that one does. */
type Kind = Holding | 'long';

/** One look at every row. */
export function surveyColumns(statement: Statement, params: Params): Holding[] {
  const kinds: Kind[] = statement.columns().map(() => 'nothing');
  for (const row of statement.iterate(params))
    row.forEach((value, at) => {
      kinds[at] = joined(kinds[at] ?? 'nothing', value);
    });
  return kinds.map((kind) => (kind === 'long' ? 'integer' : kind));
}

/** What a column holds that held `before` and now `value` too, as SQLite gives it: integers are bigint. */
function joined(before: Kind, value: unknown): Kind {
  if (value === null || before === 'mixed') return before;
  const kind = kindOf(value, before);
  if (before === 'nothing' || before === kind) return kind;
  const both = [before, kind].sort().join();
  const common: Record<string, Kind> = {
    'text,timestamp': 'text',
    'integer,real': 'real',
    'integer,long': 'long',
  };
  return common[both] ?? 'mixed';
}

function kindOf(value: unknown, before: Kind): Kind {
  if (typeof value === 'bigint') return BigInt(Number(value)) === value ? 'integer' : 'long';
  if (typeof value === 'number') return 'real';
  if (typeof value !== 'string') return 'bytes';
  return before !== 'text' && microsOf(value) !== undefined ? 'timestamp' : 'text';
}
