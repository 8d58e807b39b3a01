/** `market-mirror completion <shell>`: what a shell needs to complete our command lines, made from the program itself. */

import { Argument, Command } from 'commander';
import { loadJobs } from '../load-jobs.ts';
import { bash } from './completion/bash.ts';
import { type Described, describe } from './completion/describe.ts';
import { fish } from './completion/fish.ts';
import { zsh } from './completion/zsh.ts';
import type { Context } from './context.ts';
import { withExamples } from './help.ts';

const scripts: Record<string, (commands: readonly Described[]) => string> = { bash, zsh, fish };

export function completionCommand(program: Command, { stdout }: Pick<Context, 'stdout'>): Command {
  const command = new Command('completion')
    .description('print a script that completes commands, options and jobs in your shell')
    .addArgument(new Argument('<shell>', 'the shell that is to complete').choices(Object.keys(scripts)))
    .action(async (shell: string) => {
      const jobs = (await loadJobs()).map((job) => job.name);
      stdout.write(`${scripts[shell]?.(describe(program, jobs))}\n`);
    });
  return withExamples(
    command,
    [
      'bash, from the next shell on; make the folder where there is none',
      'completion bash > ~/.local/share/bash-completion/completions/market-mirror',
    ],
    ['zsh, in a folder of $fpath', 'completion zsh > ~/.zfunc/_market-mirror'],
    ['fish', 'completion fish > ~/.config/fish/completions/market-mirror.fish'],
  );
}
