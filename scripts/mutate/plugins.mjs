/**
 * Plugins of Stryker. One leaves most mutants out, drawn one by one by a seed, where a whole run would take hours. The other
 * prints each mutant that no test noticed as soon as that is known, so that a run that is stopped has told something.
 */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { declareFactoryPlugin, PluginKind } from '@stryker-mutator/api/plugin';

const { MUTATE_SEED: seed = '1', MUTATE_PART: part = '1' } = process.env;

/** To Stryker, a mutant that is left out is one that does not compile. */
const createSample = () => ({
  init: async () => undefined,
  group: async (mutants) => [mutants.map(({ id }) => id)],
  check: async (mutants) =>
    Object.fromEntries(
      mutants.map((mutant) => [
        mutant.id,
        isDrawn(mutant) ? { status: 'passed' } : { status: 'compileError', reason: 'not in the sample' },
      ]),
    ),
});

function isDrawn({ fileName, location: { start, end }, replacement }) {
  const name = `${seed} ${pathOf(fileName)} ${start.line}:${start.column}-${end.line}:${end.column} ${replacement}`;
  return createHash('sha256').update(name).digest().readUInt32BE() < Number(part) * 2 ** 32;
}

const pathOf = (fileName) => fileName.slice(fileName.lastIndexOf('src/'));

const createPrinter = () => ({
  onMutantTested({ fileName, location, replacement = '', status }) {
    // One that ended the tests' process itself is counted as not noticed, so it is told of, too.
    if (['Killed', 'Timeout', 'Ignored', 'CompileError'].includes(status)) return;
    const path = pathOf(fileName);
    const line = readFileSync(path, 'utf8').split('\n')[location.start.line - 1]?.trim();
    const change = replacement.replace(/\s+/g, ' ').slice(0, 80);
    process.stdout.write(`${path}:${location.start.line} ${status}: ${line}\n    → ${change}\n`);
  },
});

export const strykerPlugins = [
  declareFactoryPlugin(PluginKind.Checker, 'sample', createSample),
  declareFactoryPlugin(PluginKind.Reporter, 'unnoticed', createPrinter),
];
