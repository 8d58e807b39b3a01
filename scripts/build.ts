/** A step of the build: the program in `dist/`, of which commit it is, and the licences of what became part of it. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buildInfo } from './build-info.ts';
import { bundle, root } from './bundle.ts';
import { licencesOf } from './licences.ts';

const notices = licencesOf(root, await bundle(root));
writeFileSync(join(root, 'dist/build.json'), `${JSON.stringify(buildInfo(root))}\n`);
writeFileSync(join(root, 'dist/licences.txt'), `${notices.join('\n\n')}\n`);
