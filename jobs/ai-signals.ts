import { integer, real, text } from 'drizzle-orm/sqlite-core';
import * as z from 'zod';
import { agingTable, defineJob } from '../src/job.ts';

/** RFC 3339, which allows leap seconds and lower-case letters; kept exactly as received. */
const dateTime = z
  .string()
  .regex(
    /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])t([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?(z|[+-]([01]\d|2[0-3]):[0-5]\d)$/i,
    'is not an RFC 3339 date-time',
  )
  .meta({ format: 'date-time', description: 'RFC 3339 date-time as received' });

/** Objects have the names that the specification gives them. */
const validator = z
  .strictObject({
    allowed: z.boolean().nullable(),
    score: z.number().nullable(),
    reasonCodes: z.array(z.string()),
    finalAction: z.string().nullable(),
  })
  .meta({ title: 'SignalValidator' });

const quality = z
  .strictObject({
    publishable: z.boolean(),
    grade: z.enum(['A', 'B', 'C', 'REJECT']),
    ageSeconds: z.number().min(0),
    freshness: z.enum(['live', 'delayed', 'stale']),
    checks: z.array(z.string()),
  })
  .meta({ title: 'SignalQuality' });

const dualAi = z
  .strictObject({
    analyst: z.string().optional(),
    arbiter: z.string().optional(),
    verdict: z.string().optional(),
    confidence: z.number().optional(),
  })
  .meta({ title: 'DualAiSummary' });

const signal = z
  .strictObject({
    id: z.string().min(1).describe('signal identifier'),
    timestamp: dateTime,
    asset: z.string(),
    action: z.string(),
    confidence: z.number(),
    riskReward: z.number().nullable(),
    entryPrice: z.number(),
    tpPrice: z.number().nullable().describe('take-profit price'),
    slPrice: z.number().nullable(),
    rationale: z.string(),
    status: z.string(),
    validator,
    quality,
    assetClass: z.enum(['crypto', 'stock', 'commodity', 'index', 'fx', 'other']),
    screenerScore: z.number().nullable(),
    regime: z.string().nullable(),
    dualAi: dualAi.nullable(),
  })
  .meta({ title: 'AiSignal' });

export const { table, rows, volatile, history } = agingTable(
  'ai_signals',
  {
    id: text().notNull(),
    timestamp: text().notNull(),
    asset: text().notNull(),
    action: text().notNull(),
    confidence: real().notNull(),
    risk_reward: real(),
    entry_price: real().notNull(),
    tp_price: real(),
    sl_price: real(),
    rationale: text().notNull(),
    status: text().notNull(),
    validator_allowed: integer(),
    validator_score: real(),
    validator_reason_codes: text().notNull(),
    validator_final_action: text(),
    quality_publishable: integer().notNull(),
    quality_grade: text().notNull(),
    quality_age_seconds: real().notNull(),
    quality_freshness: text().notNull(),
    quality_checks: text().notNull(),
    asset_class: text().notNull(),
    screener_score: real(),
    regime: text(),
    dual_ai_analyst: text(),
    dual_ai_arbiter: text(),
    dual_ai_verdict: text(),
    dual_ai_confidence: real(),
    dual_ai: text(),
  },
  ['quality_age_seconds', 'quality_freshness'],
);

/** The same in SQLite and in Postgres. */
const signalChanges = `SELECT id, asset, row_number() OVER life AS version, valid_from, valid_to, ended_by,
  action, lag(action) OVER life AS previous_action,
  status, lag(status) OVER life AS previous_status,
  confidence, lag(confidence) OVER life AS previous_confidence,
  quality_grade, lag(quality_grade) OVER life AS previous_quality_grade,
  entry_price, tp_price, sl_price
FROM (
  SELECT id, asset, action, status, confidence, quality_grade, entry_price, tp_price, sl_price,
    _valid_from AS valid_from, _valid_to AS valid_to, _ended_by AS ended_by FROM ai_signals_history
  UNION ALL
  SELECT id, asset, action, status, confidence, quality_grade, entry_price, tp_price, sl_price,
    _changed_at, NULL, NULL FROM ai_signals
) AS versions
WINDOW life AS (PARTITION BY id ORDER BY valid_from)`;

export default defineJob({
  about: 'The published AI signal snapshot, one row a signal.',
  path: '/api/v1/ai-signals',
  operation: 'listPublishedAiSignals',
  scope: 'ai-signals:read',
  schedule: 'every 2m',
  weight: 3,
  table,
  rows,
  volatile,
  history,
  contract: {
    page: z
      .strictObject({
        generatedAt: dateTime.nullable(),
        source: z.literal('published-signal-snapshot'),
        mode: z.literal('read-only'),
      })
      .meta({ title: 'AiSignalPage' }),
    row: signal,
    key: (row) => row.id,
    columns: (row) => ({
      id: row.id,
      timestamp: row.timestamp,
      asset: row.asset,
      action: row.action,
      confidence: row.confidence,
      risk_reward: row.riskReward,
      entry_price: row.entryPrice,
      tp_price: row.tpPrice,
      sl_price: row.slPrice,
      rationale: row.rationale,
      status: row.status,
      validator_allowed: row.validator.allowed === null ? null : Number(row.validator.allowed),
      validator_score: row.validator.score,
      validator_reason_codes: JSON.stringify(row.validator.reasonCodes),
      validator_final_action: row.validator.finalAction,
      quality_publishable: Number(row.quality.publishable),
      quality_grade: row.quality.grade,
      quality_age_seconds: row.quality.ageSeconds,
      quality_freshness: row.quality.freshness,
      quality_checks: JSON.stringify(row.quality.checks),
      asset_class: row.assetClass,
      screener_score: row.screenerScore,
      regime: row.regime,
      dual_ai_analyst: row.dualAi?.analyst ?? null,
      dual_ai_arbiter: row.dualAi?.arbiter ?? null,
      dual_ai_verdict: row.dualAi?.verdict ?? null,
      dual_ai_confidence: row.dualAi?.confidence ?? null,
      dual_ai: row.dualAi && JSON.stringify(row.dualAi),
    }),
  },
  views: [
    {
      name: 'ai_signal_reason_codes',
      about: "The validator's reason codes, one row each, in the order of `position`.",
      sql: `SELECT signal.id, signal.timestamp, signal.asset, signal.action, code.key AS position, code.value AS reason_code
FROM ai_signals AS signal, json_each(signal.validator_reason_codes) AS code`,
      postgres: `SELECT signal.id, signal.timestamp, signal.asset, signal.action, code.number - 1 AS position, code.value AS reason_code
FROM ai_signals AS signal, json_array_elements_text(signal.validator_reason_codes) WITH ORDINALITY AS code (value, number)`,
      example: `SELECT reason_code, count(*) AS signals, round(avg(confidence), 2) AS confidence
FROM ai_signal_reason_codes JOIN ai_signals USING (id)
GROUP BY reason_code ORDER BY signals DESC, reason_code`,
    },
    {
      name: 'ai_signal_checks',
      about: 'The quality checks that a signal went through, one row each, in the order of `position`.',
      sql: `SELECT signal.id, signal.timestamp, signal.asset, signal.quality_grade, tested.key AS position, tested.value AS check_name
FROM ai_signals AS signal, json_each(signal.quality_checks) AS tested`,
      postgres: `SELECT signal.id, signal.timestamp, signal.asset, signal.quality_grade, tested.number - 1 AS position, tested.value AS check_name
FROM ai_signals AS signal, json_array_elements_text(signal.quality_checks) WITH ORDINALITY AS tested (value, number)`,
      example: `SELECT check_name, quality_grade, count(*) AS signals
FROM ai_signal_checks GROUP BY check_name, quality_grade ORDER BY signals DESC`,
    },
    {
      name: 'ai_signal_changes',
      about:
        "A signal's life: one row a version, from `valid_from` until just before `valid_to` (null while it stands), with what it was before. `ended_by` is `update` or `delete`.",
      sql: signalChanges,
      postgres: signalChanges,
      example: `SELECT valid_from, asset, id, previous_status, status
FROM ai_signal_changes WHERE version > 1 AND status IS NOT previous_status
ORDER BY valid_from DESC LIMIT 20`,
    },
  ],
});
