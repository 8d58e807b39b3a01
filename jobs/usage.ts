import { defineJob } from '../src/job.ts';

const job = defineJob('usage', {
  about: 'The API usage of the account, as the API reported it at each poll.',
  path: '/api/v1/usage',
  scope: null,
  schedule: 'every 15m',
  reading: 'response',
});

export default job;
export const { rows } = job.tables;
