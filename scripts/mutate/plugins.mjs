/**
 * Plugins of Stryker. One leaves most mutants out, drawn one by one by a seed, where a whole run would take hours. The other
 * prints each mutant that no test noticed as soon as that is known, and the score at the end.
 */

import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { declareFactoryPlugin, PluginKind } from '@stryker-mutator/api/plugin';

const { part = '1', seed = '1' } = JSON.parse(process.env.MUTATE ?? '{}');

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

const createPrinter = () => {
  const counts = { noticed: 0, late: 0, all: 0 };
  const score = () => {
    const { noticed, late, all } = counts;
    const share = ((100 * noticed) / Math.max(1, all)).toFixed(1);
    return `${noticed} of ${all} changes noticed, ${share} %, ${late} of them since the tests did not end`;
  };
  return {
    onMutantTested({ fileName, location, replacement = '', status }) {
      if (['Ignored', 'CompileError'].includes(status)) return;
      counts.all += 1;
      if (status === 'Timeout') counts.late += 1;
      // One that ended the tests' process itself is counted as not noticed.
      const isNoticed = ['Killed', 'Timeout'].includes(status);
      if (isNoticed) counts.noticed += 1;
      if (counts.all % 25 === 0) process.stderr.write(`${score()}\n`);
      if (isNoticed) return;
      const path = pathOf(fileName);
      const line = readFileSync(path, 'utf8').split('\n')[location.start.line - 1]?.trim();
      const change = replacement.replace(/\s+/g, ' ').slice(0, 80);
      process.stdout.write(`${path}:${location.start.line} ${status}: ${line}\n    → ${change}\n`);
    },
    onMutationTestReportReady() {
      process.stdout.write(`${score()} (part ${part}, seed ${seed})\n`);
    },
  };
};

export const strykerPlugins = [
  declareFactoryPlugin(PluginKind.Checker, 'sample', createSample),
  declareFactoryPlugin(PluginKind.Reporter, 'unnoticed', createPrinter),
];
