/** A plugin of Stryker that leaves most mutants out, drawn one by one by a seed, where a whole run would take hours. */

import { createHash } from 'node:crypto';
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
  const file = fileName.slice(fileName.lastIndexOf('src/'));
  const name = `${seed} ${file} ${start.line}:${start.column}-${end.line}:${end.column} ${replacement}`;
  return createHash('sha256').update(name).digest().readUInt32BE() < Number(part) * 2 ** 32;
}

export const strykerPlugins = [declareFactoryPlugin(PluginKind.Checker, 'sample', createSample)];
