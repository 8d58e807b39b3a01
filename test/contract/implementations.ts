/** Every implementation of the specification that the suite is run against, by name. */

import type { Start } from './implementation.ts';
import { startModel } from './model-api.ts';
import { startServe } from './serve.ts';

export const implementations: [name: string, start: Start][] = [
  ['the model API', startModel],
  ['serve', startServe],
];
