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

export { type ApiKey, type Call, type Refusal, type Scope, sampleKey, scopes } from './calls.ts';
export {
  type Dataset,
  type DatasetName,
  type Datasets,
  datasetNames,
  type EndpointName,
  liveEdit,
  type Row,
} from './datasets.ts';
export type { Answer, ApiRequest, Fault } from './endpoints.ts';
export { endpointNames, endpoints, type Pagination } from './endpoints.ts';
export { describeFaults, type FaultScript, type Match, parseFaults, when } from './fault-scripts.ts';
export * as faults from './faults.ts';
export {
  createLimits,
  type LimitOptions,
  type Limits,
  type Quota,
  type QuotaKind,
  type RateOptions,
} from './limits.ts';
export { integer, type Random, seededRandom, shuffled } from './random.ts';
export {
  type BeforeAnswer,
  type ModelApi,
  type ModelOptions,
  retryAfterSeconds,
  startModelApi,
} from './server.ts';
