/**
 * The model API: an executable model of the whole specification over real HTTP, for tests, the demo and
 * rehearsals. It is written from the specification alone and shares no code with the mirror.
 *
 * @example
 * const model = await startModelApi({
 *   rows: { aiSignals: 1_000, news: 40 },
 *   quota: { limit: 100, periodMs: 60_000, kind: 'sliding' },
 *   faults: [when({ endpoint: 'news', nth: 2 }, faults.refuse(503, { retryAfter: '3' }))],
 *   beforeAnswer: ({ query }, { data }) => {
 *     if (query['offset'] === '100') data.aiSignals.rows.splice(3, 1);
 *   },
 * });
 * // … GET `${model.url}/api/v1/news` with `Bearer ${sampleKey.key}` …
 * model.callsTo('/api/v1/news').map(({ status, rowIds }) => [status, rowIds.length]);
 * await model.close();
 */

export type { Answer, AnswerContext, ApiRequest, Deliver } from './answer.ts';
export type { Call } from './calls.ts';
export { type Dataset, type DatasetName, type Datasets, datasetNames, type Row } from './datasets/index.ts';
export { liveEdit } from './edits.ts';
export { type EndpointName, endpointNames, endpoints, type ListBody } from './endpoints.ts';
export * as faults from './faults/index.ts';
export { describeFaults, parseFaults } from './faults/parse.ts';
export { type Fault, type FaultScript, type Match, when } from './faults/script.ts';
export { type ApiKey, type Scope, sampleKey, scopes } from './keys.ts';
export {
  createLimits,
  type LimitName,
  type LimitOptions,
  type Limits,
  type RateOptions,
} from './limits/index.ts';
export type { Quota, QuotaKind, QuotaOptions } from './limits/quota.ts';
export {
  type BeforeAnswer,
  type ModelApi,
  type ModelOptions,
  type RetryAfter,
  retryAfterDate,
  retryAfterSeconds,
} from './options.ts';
export type { Pagination } from './paging.ts';
export { type Random, seededRandom, shuffled } from './random.ts';
export type { Refusal } from './refusals.ts';
export { startModelApi } from './server.ts';
