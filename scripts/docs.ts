/** `npm run docs`: writes the pages that follow from the code. */

import { writeFileSync } from 'node:fs';
import { renderCommands, renderMetrics, renderSettings } from './docs/pages.ts';
import { renderTables } from './docs/tables.ts';

writeFileSync(new URL('../docs/tables.md', import.meta.url), await renderTables());
writeFileSync(new URL('../docs/cli.md', import.meta.url), await renderCommands());
writeFileSync(new URL('../docs/settings.md', import.meta.url), renderSettings());
writeFileSync(new URL('../docs/metrics.md', import.meta.url), renderMetrics());
