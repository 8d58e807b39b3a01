/** The page stays light: what a browser loads before the overview is whole. */

import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { firstViewOf, gzipKilobytes } from '../../scripts/web/first-view.ts';
import { built } from '../helpers/built.ts';

test('the first view is at most 30 kB of script and style', () => {
  const files = firstViewOf(dirname(fileURLToPath(built('web/index.html'))));
  expect(files.length).toBeGreaterThan(2);
  expect(gzipKilobytes(files)).toBeLessThanOrEqual(30);
});
