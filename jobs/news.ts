import { defineJob, rawTable } from '../src/job.ts';

export const { table, history } = rawTable('news');

export default defineJob({
  about: 'The published news, one row an item.',
  path: '/api/v1/news',
  scope: 'news:read',
  schedule: 'every 5m',
  weight: 2,
  filters: ['q', 'category', 'symbol', 'market', 'source', 'filter', 'kind'],
  table,
  history,
});
