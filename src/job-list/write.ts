/** Run by the build, when the jobs are compiled: writes down the list of them. */

import { writeFileSync } from 'node:fs';
import { jobListFile, listJobs } from '../job-list.ts';

writeFileSync(jobListFile, `${JSON.stringify(await listJobs(), null, 2)}\n`);
