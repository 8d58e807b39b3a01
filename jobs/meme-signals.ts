import { defineJob, rawTable } from '../src/job.ts';

export const { table, history } = rawTable('meme_signals');

export default defineJob({
  path: '/api/v1/meme-signals',
  scope: 'meme:read',
  schedule: 'every 2m',
  weight: 2,
  table,
  history,
});
