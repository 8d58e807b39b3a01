import { defineJob, rawTable } from '../src/job.ts';

export const { table, history } = rawTable('smart_wallets');

export default defineJob({
  path: '/api/v1/smart-wallets',
  scope: 'smart-wallets:read',
  schedule: 'every 15m',
  table,
  history,
});
