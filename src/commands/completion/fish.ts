/** Completion for fish. */

import type { Described, DescribedOption, Values } from './described.ts';

export function fish(commands: readonly Described[]): string {
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
        ...args.flatMap(({ values }) => (values === 'any' ? [] : [`${here} ${wordsOf(values)}`])),
      ];
    }),
  ].join('\n');
}

const complete = (condition: string) => `complete -c market-mirror -n '${condition}'`;

function optionOf({ flags, about, values }: DescribedOption): string {
  const names = flags.map((flag) => (flag.startsWith('--') ? `-l ${flag.slice(2)}` : `-s ${flag.slice(1)}`));
  const takes = values === undefined ? [] : [values === 'file' ? '-r' : '-x'];
  const words = values === undefined || values === 'any' ? [] : [wordsOf(values)];
  return [...names, ...takes, ...words, '-d', quoted(about)].join(' ');
}

const wordsOf = (values: Exclude<Values, 'any'>) => (values === 'file' ? '-F' : `-a '${values.join(' ')}'`);

const quoted = (text: string) => `'${text.replace(/[\\']/g, '\\$&')}'`;
