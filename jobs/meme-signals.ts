import { defineJob, rawTable } from '../src/job.ts';

export const { table, rows, history } = rawTable('meme_signals');

export default defineJob({
  about: 'The published meme-token alerts, one row an alert.',
  path: '/api/v1/meme-signals',
  scope: 'meme:read',
  schedule: 'every 2m',
  weight: 2,
  table,
  rows,
  history,
});
