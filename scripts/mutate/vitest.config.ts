/** How mutants are tested: by the tests of one room, the quickest file first, since the first failure ends the run. */

import { relative } from 'node:path';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import base from '../../vitest.config.ts';

const { tests = [], without = [], setup = [] } = JSON.parse(process.env['MUTATE'] ?? '{}');

class QuickestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const { cache, config } = this.ctx;
    const msOf = ({ project, moduleId }: TestSpecification) =>
      cache.getFileTestResults(`${project.name}:${relative(config.root, moduleId)}`)?.duration ?? 0;
    return files.toSorted((one, other) => msOf(one) - msOf(other));
  }
}

export default {
  test: {
    ...base.test,
    include: tests,
    exclude: without,
    globalSetup: setup,
    sequence: { sequencer: QuickestFirst },
  },
};
