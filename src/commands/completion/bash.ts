/** Completion for bash, 3.2 and newer. */

import type { Described, Values } from './described.ts';

export function bash(commands: readonly Described[]): string {
  const values = commands.flatMap(({ name, options }) =>
    options.flatMap((option) =>
      option.values === undefined
        ? []
        : [`    ${option.flags.map((flag) => `'${name} ${flag}'`).join('|')}) ${reply(option.values)} ;;`],
    ),
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
${values.join('\n')}
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

/** What stands last may stand anywhere: the words before it may be values of options. */
function argumentsOf({ name, args }: Described): string[] {
  return args.flatMap(({ values }, at) =>
    values === 'any' ? [] : [`    '${name} '${at === args.length - 1 ? '*' : at}) ${action(values)} ;;`],
  );
}

const reply = (values: Values) => (values === 'any' ? 'return' : `${action(values)}; return`);

const action = (values: readonly string[] | 'file') =>
  values === 'file' ? '_market_mirror_files' : words(values);

const words = (list: readonly string[]) => `_market_mirror_words $'${list.join('\\n')}'`;
