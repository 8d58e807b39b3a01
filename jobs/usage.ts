import { defineJob, snapshotTable } from '../src/job.ts';

export const { table, rows } = snapshotTable('usage');

export default defineJob({
  about: 'The API usage of the account, as the API reported it at each poll.',
  path: '/api/v1/usage',
  scope: null,
  schedule: 'every 15m',
  reading: 'snapshot',
  table,
  rows,
});
