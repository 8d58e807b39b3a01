/** Which version of market-mirror this is. */

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export function version(): string {
  const file = fileURLToPath(import.meta.resolve('#package'));
  return (JSON.parse(readFileSync(file, 'utf8')) as { version: string }).version;
}
