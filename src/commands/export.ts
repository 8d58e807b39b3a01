/** `market-mirror export <job or sql>`: a dataset or an answer as a file, with a receipt beside it. */

import { Command, Option } from 'commander';
import { Failure } from '../errors.ts';
import { listJobs } from '../job-list.ts';
import { describeDefused } from '../output/forms.ts';
import { type Output, type Write, writerTo } from '../output/print.ts';
import { number, plural } from '../output/text.ts';
import { printable, printableJson, printableLines } from '../printable.ts';
import { exportAnswer, exportFormats, type Order, openFiles } from '../reading/export.ts';
import { type Ask, asking } from '../reading/query.ts';
import { withAskingOptions } from './asking/options.ts';
import { askMirror, type Input } from './asking.ts';
import type { Context } from './context.ts';
import { type OrderOptions, readOrder } from './export/order.ts';
import { withExamples } from './help.ts';

type Options = OrderOptions & { force?: true };

export function exportCommand(context: Context, stdin: Input = process.stdin): Command {
  const command = new Command('export')
    .argument(
      '[what]',
      'a job, a table, a view or SQL; SQL from standard input where neither it nor --file is given',
    )
    .option('-o, --output <file>', 'the file to write; standard output unless given, or where it is -')
    .addOption(
      new Option('--format <format>', 'the form (default: by the name of the file, else csv)').choices(
        exportFormats,
      ),
    )
    .option('--file <file>', 'read the SQL from a file')
    .option(
      '--since <seq or time>',
      "of a job: only what came, changed or went after that, see the receipt's seq",
    )
    .option('--force', 'replace a file that is there')
    .option('--exact', 'CSV: keep cells that a spreadsheet would run as formulas')
    .option('--json', 'print the receipt')
    .action((what: string | undefined, options: Options) =>
      asking((ask) => run(ask, what, options, context, stdin)),
    );
  return withExamples(
    withAskingOptions(command),
    ['a dataset with typed columns, and its receipt', 'export ai-signals -o signals.parquet'],
    ['what changed in the last two hours', 'export news --since 2h -o news.ndjson'],
    [
      'an answer, from data of the last ten minutes',
      'export --max-age 10m -o assets.csv "SELECT DISTINCT asset FROM ai_signals"',
    ],
  );
}

async function run(
  ask: Ask,
  what: string | undefined,
  given: Options,
  context: Context,
  stdin: Input,
): Promise<void> {
  const { stdout, stderr } = context;
  const { output, ...others } = given;
  const options: Options = output === '-' ? others : given;
  const jobs = await listJobs();
  const order = await readOrder(what, options, jobs, context, stdin);
  const { sql, params, asOf, format } = order;
  // The places are taken before the work begins.
  const files =
    options.output === undefined ? undefined : await openFiles(options.output, options.force ?? false);
  try {
    const write = files ? files.write : writerFor(order, stdout);
    const asked = { sql, params, asOf, survey: format === 'parquet' };
    const exported = await askMirror(ask, asked, jobs, options, context, async (answer) => {
      const exported = await exportAnswer(answer, order, write);
      if (exported.csv?.defused) answer.notes.push(describeDefused(exported.csv.defused));
      return exported;
    });
    if (!files) return;
    const receipt = await files.commit(exported);
    if (options.json) stdout.write(`${printableJson(receipt)}\n`);
    else
      stderr.write(
        `${printable(receipt.file)}: ${number(receipt.rows)} ${plural(receipt.rows, 'row')}; ${printable(receipt.file)}.meta.json says what of\n`,
      );
  } finally {
    await files?.close();
  }
}

function writerFor({ format }: Order, stdout: Output): Write {
  if (stdout.isTTY && format === 'parquet')
    throw new Failure('usage', 'parquet is nothing to look at: name a file with --output');
  const write = writerTo(stdout);
  return stdout.isTTY ? (piece) => write(typeof piece === 'string' ? printableLines(piece) : piece) : write;
}
