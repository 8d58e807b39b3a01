/** `market-mirror plan`: what the next 24 hours will cost, and what the account has for it; makes no call. */

import { Command } from 'commander';
import { planJson } from '../plan/json.ts';
import { readPlan } from '../plan.ts';
import { printableJson } from '../printable.ts';
import { type Context, localMirror } from './context.ts';
import { withExamples } from './help.ts';
import { renderPlan } from './plan/text.ts';

type Options = { json?: true };

export function planCommand(context: Context): Command {
  const command = new Command('plan')
    .option('--json', 'print the plan as JSON')
    .action((options: Options) => plan(options, context));
  return withExamples(command, ['will the quota do for the schedules?', 'plan']);
}

async function plan({ json }: Options, context: Context): Promise<void> {
  const { clock, stdout } = context;
  const { dir, datasets } = await localMirror(context);
  const made = planJson(readPlan(dir, datasets, clock.now()));
  stdout.write(`${json ? printableJson(made) : renderPlan(made, stdout)}\n`);
}
