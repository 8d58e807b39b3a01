import { defineJob, rawTable } from '../src/job.ts';

export const { table, rows, history } = rawTable('news');

export default defineJob({
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
  table,
  rows,
  history,
});
