/** `npm run docs`: writes what of the documentation follows from the code. */

import { writeFileSync } from 'node:fs';
import { renderCommands } from './commands.ts';
import { renderTables } from './tables.ts';

writeFileSync(new URL('../docs/tables.md', import.meta.url), await renderTables());
writeFileSync(new URL('../docs/cli.md', import.meta.url), await renderCommands());
