/** The turn of the test files: who waits for processes or a browser goes first, so that none of them is alone at the end. */

import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

const long = [
  'test/names-of-fields',
  'test/living-here',
  'test/daemon/',
  'test/page/',
  'test/commands/',
  'test/wire/',
  'test/queue/',
  'test/reports/',
  'test/sinks/',
  'test/walk/',
  'test/mirror/',
];

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const inTurn = await super.sort(files);
    const isLong = ({ moduleId }: TestSpecification) => {
      const file = relative(this.ctx.config.root, moduleId);
      return long.some((start) => file.startsWith(start));
    };
    return [...inTurn.filter(isLong), ...inTurn.filter((file) => !isLong(file))];
  }
}
