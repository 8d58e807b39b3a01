/** `market-mirror completion <shell>`: what a shell needs to complete our command lines, made from the program itself. */

import { Argument, Command } from 'commander';
import { listJobs } from '../job-list.ts';
import { bash } from './completion/bash.ts';
import { type Described, describe } from './completion/described.ts';
import { fish } from './completion/fish.ts';
import { zsh } from './completion/zsh.ts';
import type { Context } from './context.ts';
import { withExamples } from './help.ts';

const scripts: Record<string, (commands: readonly Described[]) => string> = { bash, zsh, fish };

export function completionCommand({ stdout }: Context, program: () => Promise<Command>): Command {
  const command = new Command('completion')
    .addArgument(new Argument('<shell>', 'the shell that is to complete').choices(Object.keys(scripts)))
    .action(async (shell: string) => {
      const jobs = (await listJobs()).map((job) => job.name);
      stdout.write(`${scripts[shell]?.(describe(await program(), jobs))}\n`);
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
