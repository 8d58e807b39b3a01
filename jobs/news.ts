import { defineJob } from '../src/job.ts';

const job = defineJob('news', {
  about: 'The published news, one row an item.',
  path: '/api/v1/news',
  scope: 'news:read',
  schedule: 'every 5m',
  weight: 2,
  filters: {
    q: { by: 'text' },
    category: { by: 'field' },
    symbol: { by: 'field' },
    market: { by: 'field' },
    source: { by: 'field' },
    filter: { by: 'field' },
    kind: { by: 'field' },
  },
});

export default job;
export const { rows, versions } = job.tables;
