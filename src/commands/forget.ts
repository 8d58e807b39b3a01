/** `market-mirror forget`: what was found out of a list without a contract is found anew. */

import { Command } from 'commander';
import { openLocalApp } from '../app.ts';
import { Failure } from '../base/errors.ts';
import { printableJson } from '../base/printable.ts';
import { findJob } from '../job/list.ts';
import type { Job } from '../job.ts';
import type { Context } from './context.ts';
import { withExamples } from './help.ts';

type Options = { json?: true };

export function forgetCommand(context: Context): Command {
  const command = new Command('forget')
    .argument('<job>', 'a list without a contract')
    .option('--json', 'print the result as JSON')
    .action((job: string, options: Options) => forget(job, options, context));
  return withExamples(
    command,
    ['the rows are elsewhere in the response now, or another field identifies them', 'forget news'],
    ['then mirror it: rows, place and key are found anew', 'sync news'],
  );
}

async function forget(name: string, { json }: Options, context: Context): Promise<void> {
  const app = await openLocalApp(context);
  try {
    const job = findJob(app.jobs, name);
    refuseOthers(job);
    app.forget(job);
    const done = `${name}: the next walk finds anew where its rows are and what identifies them; its rows stay, take their keys from it, and leave by proof as ever`;
    context.stdout.write(json ? `${printableJson({ job: name })}\n` : `${done}\n`);
  } finally {
    app.close();
  }
}

function refuseOthers({ name, contract, reading }: Job): void {
  if (contract)
    throw new Failure(
      'usage',
      `forget: the specification says where the rows of ${name} are and what identifies them`,
    );
  if (reading === 'response')
    throw new Failure(
      'usage',
      `forget: ${name} is kept as whole responses, which have neither place nor key`,
    );
}
