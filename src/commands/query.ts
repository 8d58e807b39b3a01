/** `market-mirror query <sql>`: asks the mirror in SQL and says how far the answer can be trusted. */

import { Command, InvalidArgumentError, Option } from 'commander';
import { listJobs } from '../job-list.ts';
import { type Format, formats } from '../output/answer.ts';
import { printRows } from '../output/print.ts';
import { type Ask, asking } from '../reading/query.ts';
import { type AskingOptions, withAskingOptions } from './asking/options.ts';
import { askMirror, type Input, readAsOf, readSql } from './asking.ts';
import type { Context } from './context.ts';
import { withExamples } from './help.ts';

type Options = AskingOptions & { file?: string; format?: Format; json?: true; limit?: number; exact?: true };

/** A table is laid out when its last row is known, so it takes no more than this. */
const MOST_ROWS_OF_A_TABLE = 1_000;

export function queryCommand(context: Context, stdin: Input = process.stdin): Command {
  const command = new Command('query')
    .argument(
      '[sql]',
      'one SELECT, WITH, VALUES or EXPLAIN; from standard input where neither it nor --file is given',
    )
    .option('--file <file>', 'read the SQL from a file')
    .addOption(new Option('--format <format>', 'how to print the rows (default: table)').choices(formats))
    .option('--json', 'the same as --format json')
    .option('--limit <rows>', 'print at most so many rows', parseCount)
    .option('--exact', 'CSV: keep cells that a spreadsheet would run as formulas')
    .action((sql: string | undefined, options: Options) =>
      asking((ask) => query(ask, sql, options, context, stdin)),
    );
  return withExamples(
    withAskingOptions(command),
    ['whether to trust the rest', 'query "SELECT job, rows, complete_as_of, verdict FROM freshness"'],
    [
      'as CSV, with a parameter',
      'query --format csv --param asset=BTC "SELECT * FROM ai_signals WHERE asset = :asset"',
    ],
    ['only from data of the last ten minutes', 'query --max-age 10m "SELECT count(*) FROM meme_signals"'],
    ['as it stood two hours ago', 'query --as-of 2h "SELECT count(*) FROM news"'],
  );
}

async function query(
  ask: Ask,
  given: string | undefined,
  options: Options,
  context: Context,
  stdin: Input,
): Promise<void> {
  const format = options.format ?? (options.json ? 'json' : 'table');
  const limit = options.limit ?? (format === 'table' ? MOST_ROWS_OF_A_TABLE : Number.POSITIVE_INFINITY);
  const asOf = readAsOf(options, context);
  const sql = await readSql(given, options.file, stdin);
  const asked = { sql, params: options.param ?? {}, asOf };
  await askMirror(ask, asked, await listJobs(), options, context, (answer) =>
    printRows(answer, { format, limit, exact: options.exact ?? false }, context.stdout, answer.notes),
  );
}

function parseCount(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('it is a whole number');
  return Number(text);
}
