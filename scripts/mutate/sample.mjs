/**
 * A plugin of Stryker that leaves most mutants out, by a seed, where a whole run would take hours. Each statement and each
 * condition without a block is drawn by itself: Stryker leaves out all that lies below what it is told to ignore.
 */

import { createHash } from 'node:crypto';
import { declareFactoryPlugin, PluginKind } from '@stryker-mutator/api/plugin';

const { MUTATE_SEED: seed = '1', MUTATE_PART: part = '1' } = process.env;
const WHOLE = 2 ** 32;

const createSample = () => ({
  shouldIgnore(path) {
    if (Number(part) === 1 || !isDrawn(path)) return undefined;
    const { start, end } = path.node;
    const digest = createHash('sha256').update(`${seed} ${start} ${end} ${path.toString()}`).digest();
    return digest.readUInt32BE() < Number(part) * WHOLE ? undefined : 'not in the sample';
  },
});

/** The widest parts of a program that hold no block: nothing above them is ever left out. */
function isDrawn(path) {
  if (!path.isStatement() && !path.isExpression()) return false;
  if (holdsBlock(path)) return false;
  return path.parentPath === null || holdsBlock(path.parentPath);
}

function holdsBlock(path) {
  if (path.isBlockStatement() || path.isProgram() || path.isFile()) return true;
  let found = false;
  path.traverse({
    BlockStatement(inner) {
      found = true;
      inner.stop();
    },
  });
  return found;
}

export const strykerPlugins = [declareFactoryPlugin(PluginKind.Ignore, 'sample', createSample)];
