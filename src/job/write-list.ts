/** Run by the build, when the program is made: writes down what is known of the jobs. */

import { writeFileSync } from 'node:fs';
import { jobListFile, listJobs } from './list.ts';

writeFileSync(jobListFile, `${JSON.stringify(await listJobs(), null, 2)}\n`);
