/** `market-mirror completion <shell>`: the script by which a shell completes our command lines, made from the program itself. */

import { Argument, Command, type Option } from 'commander';
import { listJobs } from '../job/list.ts';
import type { Context } from './context.ts';
import { withExamples } from './help.ts';

/** What a value may be: one of these words, a file, or nothing that could be guessed. */
type Values = readonly string[] | 'file' | 'any';

type DescribedOption = {
  /** `-o` and `--output`; most have the latter alone. */
  flags: readonly string[];
  about: string;
  /** Undefined: it takes none. */
  values: Values | undefined;
};

type DescribedCommand = {
  name: string;
  about: string;
  options: readonly DescribedOption[];
  /** By position; the last goes on for ever where `variadic`. */
  args: readonly { name: string; values: Values; variadic: boolean }[];
};

const scripts: Record<string, (commands: readonly DescribedCommand[]) => string> = { bash, zsh, fish };

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

/** @param jobs the names that arguments called `job` or `what` may have. */
function describe(program: Command, jobs: readonly string[]): DescribedCommand[] {
  const names = program.commands.map((command) => command.name());
  const known: Record<string, Values> = { job: jobs, what: jobs, command: names, file: 'file' };
  return program.commands.map((command) => ({
    name: command.name(),
    about: command.description(),
    options: command.createHelp().visibleOptions(command).map(describeOption),
    args: command.registeredArguments.map((argument) => ({
      name: argument.name(),
      values: argument.argChoices ?? known[argument.name()] ?? 'any',
      variadic: argument.variadic,
    })),
  }));
}

function describeOption(option: Option): DescribedOption {
  const { short, long, description: about, argChoices } = option;
  const values = option.required ? (argChoices ?? (/<file>/.test(option.flags) ? 'file' : 'any')) : undefined;
  return { flags: [short, long].filter((flag) => flag !== undefined), about, values };
}

/** For bash, 3.2 and newer. */
function bash(commands: readonly DescribedCommand[]): string {
  const words = (list: readonly string[]) => `_market_mirror_words $'${list.join('\\n')}'`;
  const action = (values: readonly string[] | 'file') =>
    values === 'file' ? '_market_mirror_files' : words(values);
  const valuesOf = ({ name, options }: DescribedCommand) =>
    options.flatMap(({ flags, values }) =>
      values === undefined
        ? []
        : `    ${flags.map((flag) => `'${name} ${flag}'`).join('|')}) ${values === 'any' ? 'return' : `${action(values)}; return`} ;;`,
    );
  // The last argument may stand anywhere: the words before it may be values of options.
  const argumentsOf = ({ name, args }: DescribedCommand) =>
    args.flatMap(({ values }, at) =>
      values === 'any' ? [] : `    '${name} '${at === args.length - 1 ? '*' : at}) ${action(values)} ;;`,
    );
  return `# bash completion of market-mirror
_market_mirror() {
  local IFS=$'\\n' cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} command='' at=0 i
  for ((i = 1; i < COMP_CWORD; i++)); do
    [[ \${COMP_WORDS[i]} == -* ]] && continue
    if [[ -z $command ]]; then command=\${COMP_WORDS[i]}; else ((at++)); fi
  done
  _market_mirror_words() { COMPREPLY=($(compgen -W "$1" -- "$cur")); }
  _market_mirror_files() { COMPREPLY=($(compgen -f -- "$cur")); compopt -o filenames 2>/dev/null; }
  COMPREPLY=()
  case "$command $prev" in
${commands.flatMap(valuesOf).join('\n')}
  esac
  if [[ $cur == -* ]]; then
    case $command in
${commands.map(({ name, options }) => `      ${name}) ${words(options.flatMap(({ flags }) => flags))} ;;`).join('\n')}
      *) ${words(['--help', '--version'])} ;;
    esac
    return
  fi
  case "$command $at" in
    ' 0') ${words(commands.map(({ name }) => name))} ;;
${commands.flatMap(argumentsOf).join('\n')}
  esac
}
complete -F _market_mirror market-mirror`;
}

/** For zsh, by its own `_arguments`. */
function zsh(commands: readonly DescribedCommand[]): string {
  const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
  const action = (values: Values) =>
    values === 'any' ? ' ' : values === 'file' ? '_files' : `(${values.join(' ')})`;
  const optionOf = ({ flags, about, values }: DescribedOption) => {
    const takes = values === undefined ? '' : `:value:${action(values)}`;
    const told = `[${about.replace(/[[\]\\:]/g, '\\$&')}]${takes}`;
    return flags.length === 1
      ? quoted(`${flags[0]}${told}`)
      : `'(${flags.join(' ')})'{${flags.join(',')}}${quoted(told)}`;
  };
  const caseOf = ({ name, options, args }: DescribedCommand) => {
    const specs = [
      ...options.map(optionOf),
      ...args.map(({ name, values, variadic }) => quoted(`${variadic ? '*' : ''}:${name}:${action(values)}`)),
    ];
    return `    ${name}) _arguments ${specs.join(' ')} ;;`;
  };
  return `#compdef market-mirror
# zsh completion of market-mirror
_market-mirror() {
  local -a commands=(
${commands.map(({ name, about }) => `    ${quoted(`${name}:${about}`)}`).join('\n')}
  )
  local context state state_descr line
  typeset -A opt_args
  _arguments -C '(- *)'{-h,--help}'[display help]' '(- *)'{-V,--version}'[output the version number]' \\
    '1: :->command' '*:: :->rest' && return
  if [[ $state == command ]]; then
    _describe command commands
    return
  fi
  case $words[1] in
${commands.map(caseOf).join('\n')}
  esac
}
if [[ $funcstack[1] == _market-mirror ]]; then _market-mirror "$@"; else compdef _market-mirror market-mirror; fi`;
}

function fish(commands: readonly DescribedCommand[]): string {
  const quoted = (text: string) => `'${text.replace(/[\\']/g, '\\$&')}'`;
  const complete = (condition: string) => `complete -c market-mirror -n '${condition}'`;
  const wordsOf = (values: Exclude<Values, 'any'>) => (values === 'file' ? '-F' : `-a '${values.join(' ')}'`);
  const optionOf = ({ flags, about, values }: DescribedOption) => {
    const names = flags.map((flag) =>
      flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`,
    );
    const takes = values === undefined ? [] : [values === 'file' ? '-r' : '-x'];
    const words = values === undefined || values === 'any' ? [] : [wordsOf(values)];
    return [...names, ...takes, ...words, '-d', quoted(about)].join(' ');
  };
  return [
    '# fish completion of market-mirror',
    'complete -c market-mirror -f',
    ...commands.map(
      ({ name, about }) => `${complete('__fish_use_subcommand')} -a ${name} -d ${quoted(about)}`,
    ),
    ...commands.flatMap(({ name, options, args }) => {
      const here = complete(`__fish_seen_subcommand_from ${name}`);
      return [
        ...options.map((option) => `${here} ${optionOf(option)}`),
        ...args.flatMap(({ values }) => (values === 'any' ? [] : `${here} ${wordsOf(values)}`)),
      ];
    }),
  ].join('\n');
}
