/** Rows without a contract: kept as received, under a key that the rows themselves suggest (`keys.ts`). */

import {
  type CheckedRow,
  type DiscoveredShape,
  type Drift,
  describeKey,
  type FieldPath,
  type PageFields,
  type Problem,
} from './checked.ts';
import { findRepeatedName, withPlainNames } from './json-text.ts';
import { believedKey, digestOf, type KeyedRow, keyOf, textKeyOf } from './keys.ts';
import { asRecord, holdsLongNumber, inspect, kindOf, profileRows } from './values.ts';

type DiscoveredRows = {
  rows: CheckedRow[];
  drifts: Drift[];
  fields: PageFields;
  withoutKeyField: number;
  /** With the key that is believed at once, if these are the first rows. */
  shape: DiscoveredShape;
};

/**
 * @param bodies each row as received.
 * @param known what was found out before.
 */
export function checkDiscovered(
  rows: readonly unknown[],
  bodies: readonly string[],
  known: DiscoveredShape,
): DiscoveredRows {
  const read = rows.map((row, at) => readRow(row, bodies[at] as string));
  const keepable = read.filter(isKeepable);
  const shape = known.hasLookedForKey || keepable.length === 0 ? known : withBelievedKey(known, keepable);
  const lacking =
    shape.key === null ? [] : keepable.filter((row) => keyOf(row, shape.key ?? []) === undefined);
  return {
    rows: read.map((row) => (isKeepable(row) ? accept(row, shape) : refuse(row, shape.key))),
    drifts:
      lacking.length === 0
        ? []
        : [
            {
              kind: 'contradicted-key',
              path: describeKey(shape.key ?? []),
              detail: 'a row without it',
              times: lacking.length,
            },
          ],
    fields: profileRows(keepable.map(({ record }) => record)),
    withoutKeyField: lacking.length,
    shape,
  };
}

const withBelievedKey = (shape: DiscoveredShape, rows: readonly KeyedRow[]): DiscoveredShape => ({
  ...shape,
  key: believedKey(rows),
  hasLookedForKey: true,
});

type RowWithProblem = { row: unknown; body: string; problem: Problem };

const isKeepable = (row: KeyedRow | RowWithProblem): row is KeyedRow => 'record' in row;

function readRow(row: unknown, body: string): KeyedRow | RowWithProblem {
  const record = asRecord(row);
  if (!record) return { row, body, problem: { path: '', expected: 'an object', received: kindOf(row) } };
  const { problem: hostile, members } = inspect(record);
  const problem = hostile ?? findRepeatedName(body, members);
  if (problem) return { row, body, problem };
  return { record, body: withPlainNames(body), inexact: holdsLongNumber(body) };
}

function accept(row: KeyedRow, { key, ages, leftOut }: DiscoveredShape): CheckedRow {
  let digest: string | undefined;
  const computeDigest = () => {
    digest ??= digestOf(row, ages);
    return digest;
  };
  const keyDigest = () => (leftOut.length > 0 ? digestOf(row, [...ages, ...leftOut]) : computeDigest());
  const own = (key && keyOf(row, key)) ?? keyDigest();
  const discovered = { textKey: key ? textKeyOf(row, key) : undefined, digest: computeDigest };
  return { key: own, row: { key: own, values: { _body: row.body }, discovered } };
}

function refuse({ row, body, problem }: RowWithProblem, keyFields: readonly FieldPath[] | null): CheckedRow {
  const record = asRecord(row);
  const found = record && keyFields ? keyOf({ record, body, inexact: true }, keyFields) : undefined;
  const key = found?.isWellFormed() ? found : null;
  return { key, refused: { key, body, problems: [problem] } };
}
