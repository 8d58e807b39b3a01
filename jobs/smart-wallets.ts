import { defineJob } from '../src/job.ts';

const job = defineJob('smart-wallets', {
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
});

export default job;
export const { rows, versions } = job.tables;
