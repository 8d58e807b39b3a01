import { defineJob, snapshotTable } from '../src/job.ts';

export const { table } = snapshotTable('usage');

export default defineJob({
  path: '/api/v1/usage',
  scope: null,
  schedule: 'every 15m',
  reading: 'snapshot',
  table,
});
