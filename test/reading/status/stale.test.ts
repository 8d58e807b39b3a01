/** Why a dataset is stale, said of each state that it may be in. */

import { expect, test } from 'vitest';
import { type Around, textOf, whyNotFresh } from '../../../src/reading/status/problems.ts';
import type { DatasetStatus, Doing } from '../../../src/reading/status.ts';

const idle: Doing = {
  kind: 'walk',
  state: 'idle',
  pages: 5,
  rows: 430,
  total: 430,
  until: null,
  reason: null,
  waited: null,
  message: null,
  exitCode: null,
  sync: null,
};

const well: Around = {
  daemonLives: true,
  isKeyRefused: false,
  isForbidden: false,
  silence: null,
  lastCall: () => ({ status: 200, errorCode: null, requestId: null, isUnanswered: 0 }),
};

const refused503: Partial<Around> = {
  lastCall: () => ({ status: 503, errorCode: null, requestId: null, isUnanswered: 0 }),
};

function said(doing: Partial<Doing>, around: Partial<Around> = {}) {
  const dataset = { job: 'news', nextRun: null, doing: { ...idle, ...doing } } as DatasetStatus;
  const { why, advice } = whyNotFresh(dataset, { ...well, ...around });
  return `${textOf(why)} → ${textOf(advice)}`;
}

const until = '2026-03-01T12:00:00.000Z';

test.each<[string, Partial<Doing>, Partial<Around>, RegExp]>([
  [
    'the quota is used up',
    { state: 'waiting', pages: 2, rows: 200, until, reason: 'quota' },
    {},
    /^the quota is used up, after page 2 and 200 of 430 rows → next try 2026.*; wait, or raise the quota$/,
  ],
  [
    'the API does not serve it',
    { state: 'waiting', pages: 0, rows: 0, until, reason: 'unavailable' },
    refused503,
    /^the API answers 503 → next try 2026.*; nothing to do$/,
  ],
  [
    'the last run failed',
    { state: 'failed', pages: 0, rows: 0, message: 'the API is temporarily unavailable' },
    {},
    /^its last run failed before its first page: the API is temporarily unavailable → /,
  ],
  [
    'the process died',
    { state: 'stopped', pages: 3, rows: 300 },
    { daemonLives: false },
    /^its last run stopped after page 3 .*: its process ended, and no daemon is running → run market-mirror start/,
  ],
  [
    'nothing took up a walk that waited',
    { state: 'stopped', waited: { at: until, reason: 'quota' } },
    { daemonLives: false },
    /it waited until 2026-03-01T12:00:00.000Z \(the quota is used up\), and nothing has resumed it since → run market-mirror start/,
  ],
  [
    'the daemon is down',
    {},
    { daemonLives: false },
    /^no daemon is running → run market-mirror start, or market-mirror sync news$/,
  ],
  [
    'nothing was proven',
    { message: 'the pages do not add up' },
    {},
    /^its last walk proved nothing: the pages do not add up → /,
  ],
  [
    'a walk is under way',
    { state: 'running', pages: 1, rows: 100 },
    {},
    /a walk is running, after page 1 .* wait for it to end$/,
  ],
  [
    'the key is refused',
    { state: 'failed' },
    { isKeyRefused: true },
    /^the API refuses the key → set a valid key$/,
  ],
  [
    'the key lacks the scope',
    { state: 'failed' },
    { isForbidden: true },
    /^the API refuses this dataset to the key → give the key/,
  ],
  ['it was never walked', { state: 'never' }, {}, /^it was not read yet → the daemon reads it/],
])('where %s, that is said, with what to do', (_, doing, around, expected) => {
  expect(said(doing, around)).toMatch(expected);
});
