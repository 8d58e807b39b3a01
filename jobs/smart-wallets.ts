import { defineJob, rawTable } from '../src/job.ts';

export const { table, rows, history } = rawTable('smart_wallets');

export default defineJob({
  about: 'The Smart Money wallet research list, one row a record.',
  path: '/api/v1/smart-wallets',
  scope: 'smart-wallets:read',
  schedule: 'every 15m',
  filters: {
    q: { by: 'text' },
    lane: {
      by: 'field',
      values: ['all', 'ready', 'hot', 'tracking', 'makers', 'whale'],
      all: 'all',
    },
  },
  table,
  rows,
  history,
});
