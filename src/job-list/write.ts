/** Run by the build, when the program is made: writes down what is known of them. */

import { writeFileSync } from 'node:fs';
import {
  describedJobsFile,
  describeJobs,
  followedJobs,
  followedJobsFile,
  jobListFile,
  listJobs,
} from '../job-list.ts';

writeFileSync(jobListFile, `${JSON.stringify(await listJobs(), null, 2)}\n`);
writeFileSync(describedJobsFile, `${JSON.stringify(await describeJobs(), null, 2)}\n`);
writeFileSync(followedJobsFile, `${JSON.stringify(await followedJobs(), null, 2)}\n`);
