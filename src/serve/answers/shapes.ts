/**
 * The bodies that are ours, as zod shapes: the types of what is written, and their schemas in `/openapi.json`, which alone needs zod.
 * Others import types of it.
 */

import * as z from 'zod';
import type { Schema } from '../../job/list.ts';
import { quotaKinds } from '../access/limits.ts';

const count = z.int().min(0);
const time = z.iso.datetime();
const verdict = z.enum(['snapshot', 'verified', 'union']);
const rate = { calls: count, periodSeconds: z.number() };

const usage = z.strictObject({
  account: z.string().describe('The account of the key.'),
  asOf: time,
  limits: z.strictObject({
    quota: z
      .strictObject({
        ...rate,
        kind: z.enum(quotaKinds),
        remaining: count.describe('Calls that are left, this one counted.'),
        moreInSeconds: z
          .int()
          .nullable()
          .describe('Until there will next be more calls left; null where none was taken.'),
      })
      .nullable(),
    rate: z
      .strictObject({ ...rate, burst: count.describe('Calls that may come at once after a rest.') })
      .nullable(),
    concurrency: z
      .strictObject({ calls: count, running: count.describe('Calls that are being answered.') })
      .nullable(),
  }),
  calls: z.strictObject({ today: count, last30Days: count }),
  byDay: z
    .array(
      z.strictObject({
        day: z.iso.date(),
        endpoint: z.string(),
        calls: count,
        status2xx: count,
        status3xx: count,
        status4xx: count,
        status5xx: count,
        firstAt: time,
        lastAt: time,
      }),
    )
    .describe('Days (UTC) and endpoints with calls, the latest day first.'),
});

/** The body of `GET /api/v1/usage`; a limit that there is not is null. */
export type UsageBody = z.infer<typeof usage>;

const readable = z.enum(['readable', 'unreadable']);

/** Within a release line members are added, never removed or changed in meaning. */
const readiness = z.looseObject({
  ready: z.boolean(),
  mirror: readable,
  keys: readable.describe(
    'Of the database of keys and counts: while it is not, every call is refused with 503.',
  ),
  datasets: z
    .array(
      z.looseObject({
        job: z.string(),
        ready: z.boolean(),
        verdict: verdict.nullable(),
        completeAsOf: time.nullable(),
        ageSeconds: z.number().nullable(),
        boundSeconds: z
          .number()
          .nullable()
          .describe(
            'The greatest age that is ready: that of `status`, or MIRROR_SERVE_MAX_AGE if it is less.',
          ),
        why: z
          .enum(['never-complete', 'clock-ahead', 'stale', 'too-old'])
          .nullable()
          .describe(
            '`too-old`: fresh by its schedule, but older than MIRROR_SERVE_MAX_AGE; the others are problems of `status`.',
          ),
      }),
    )
    .describe('Those that have a schedule.'),
});

/** The body of `/readyz`. */
export type Readiness = Closed<z.infer<typeof readiness>>;

/** What we write has the members that are named, and no others. */
type Closed<T> = T extends readonly (infer Item)[]
  ? Closed<Item>[]
  : T extends object
    ? { [Name in keyof T as string extends Name ? never : Name]: Closed<T[Name]> }
    : T;

const error = z.strictObject({
  error: z.string().describe('Machine-readable error code.'),
  message: z.string().describe('Human-readable text.'),
});

const pagination = z.strictObject({
  offset: count,
  limit: z.int().min(1).max(100),
  total: count.describe('Rows of the whole list, or of those that the filters select.'),
  returned: count.describe('Rows in this page.'),
  hasMore: z.boolean().describe('True when more rows exist beyond this page.'),
});

const anyRow = z.looseObject({});
const text = z.string();

const change = z.looseObject({
  seq: count,
  at: time,
  dataset: text,
  key: text,
  change: z.enum(['insert', 'update', 'delete']),
  row: anyRow.nullable(),
});

const dataset = z.looseObject({
  ...{ dataset: text, job: text, about: text },
  columns: z.array(z.looseObject({ name: text, type: text, about: text })),
  views: z.array(text),
  verdict: verdict.nullable(),
  complete_as_of: time.nullable(),
  age_seconds: count.nullable(),
  held: count,
  seq: count,
  history_from: time.nullable(),
});

const schemaOf = (type: z.ZodType): Schema => {
  const { $schema, ...schema } = z.toJSONSchema(type, {
    override({ jsonSchema }) {
      // The format says the same to readers, and every integer is a safe one.
      if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
    },
  });
  return schema as Schema;
};

/** Under these names `/openapi.json` has them; StandardPagination and Error are the specification's. */
export const namedSchemas: Readonly<Record<string, Schema>> = {
  StandardPagination: schemaOf(pagination),
  Error: schemaOf(error),
  Readiness: schemaOf(readiness),
  Usage: schemaOf(usage),
  UnspecifiedRow: schemaOf(anyRow.describe('A row as the mirror received it: its fields are not specified.')),
};

/** Of `/mirror/v1`; `QueryError` has the form of PostgREST. */
export const querySchemas = {
  error: schemaOf(
    z.looseObject({ code: text, message: text, details: text.nullable(), hint: text.nullable() }),
  ),
  row: schemaOf(anyRow),
  rows: schemaOf(z.array(anyRow)),
  feed: schemaOf(z.looseObject({ changes: z.array(change), next: text, hasMore: z.boolean() })),
  datasets: schemaOf(z.array(dataset)),
};
