/** Completion for zsh, by its own `_arguments`. */

import type { Described, DescribedOption, Values } from './described.ts';

export function zsh(commands: readonly Described[]): string {
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

function caseOf({ name, options, args }: Described): string {
  const given = [
    ...options.map(specOf),
    ...args.map(({ name, values, variadic }) => quoted(`${variadic ? '*' : ''}:${name}:${actionOf(values)}`)),
  ];
  return `    ${name}) _arguments ${given.join(' ')} ;;`;
}

function specOf({ flags, about, values }: DescribedOption): string {
  const takes = values === undefined ? '' : `:value:${actionOf(values)}`;
  const told = `[${about.replace(/[[\]\\:]/g, '\\$&')}]${takes}`;
  const [first = ''] = flags;
  return flags.length === 1
    ? quoted(`${first}${told}`)
    : `'(${flags.join(' ')})'{${flags.join(',')}}${quoted(told)}`;
}

function actionOf(values: Values): string {
  if (values === 'any') return ' ';
  return values === 'file' ? '_files' : `(${values.join(' ')})`;
}

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;
