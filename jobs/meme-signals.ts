import { defineJob } from '../src/job.ts';

const job = defineJob('meme-signals', {
  about: 'The published meme-token alerts, one row an alert.',
  path: '/api/v1/meme-signals',
  scope: 'meme:read',
  schedule: 'every 2m',
  weight: 2,
});

export default job;
export const { rows, versions } = job.tables;
