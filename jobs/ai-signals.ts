import * as z from 'zod';
import { defineJob } from '../src/job.ts';

/** RFC 3339, which allows leap seconds and lower-case letters; kept exactly as received. */
const dateTime = z
  .string()
  .regex(
    /^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])t([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(\.\d+)?(z|[+-]([01]\d|2[0-3]):[0-5]\d)$/i,
    'an RFC 3339 date-time',
  )
  .refine(isDayOfMonth, 'a day that its month has')
  .meta({ format: 'date-time', description: 'RFC 3339 date-time as received' });

/** A 31 of April is none. */
function isDayOfMonth(text: string): boolean {
  const day = Number(text.slice(8, 10));
  if (day <= 28) return true;
  return day <= new Date(Date.UTC(Number(text.slice(0, 4)), Number(text.slice(5, 7)), 0)).getUTCDate();
}

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

const job = defineJob('ai-signals', {
  about: 'The published AI signal snapshot, one row a signal.',
  path: '/api/v1/ai-signals',
  operation: 'listPublishedAiSignals',
  scope: 'ai-signals:read',
  schedule: 'every 2m',
  weight: 3,
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
    volatile: ['quality.ageSeconds', 'quality.freshness'],
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

export default job;
export const { rows, versions, volatile } = job.tables;
