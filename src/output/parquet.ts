/** Rows as Parquet: typed columns, times as timestamps in UTC, Snappy, a row group at a time. */

import { ByteWriter, type ColumnSource, ParquetWriter } from 'hyparquet-writer';
import { Failure } from '../base/errors.ts';
import { type Cell, type Column, distinctNames, hex, microsOf, type Rows, type ValueType } from './answer.ts';

/** A row group is closed at the first of these. Writers and readers keep one in memory. */
const GROUP = { rows: 25_000, characters: 16_000_000 };

/** Times that the mirror makes: timestamps even where there is not one of them. */
const ownTimes = ['_first_seen_at', '_changed_at', '_held_since', '_valid_from', '_valid_to', '_fetched_at'];

/** The file, piece by piece as the rows come: see `parquetWriter`. */
export async function* parquet({ columns, batches }: Rows, about: unknown): AsyncGenerator<Uint8Array, void> {
  const writer = parquetWriter(columns, about);
  for await (const batch of batches) yield writer.rows(batch);
  yield writer.end();
}

/** Makes a file: each call returns the bytes that go on with it. */
type ParquetPieces = {
  /** @throws Failure `usage` for a value that is not of what its column holds. */
  rows(batch: readonly Cell[][]): Uint8Array;
  end(): Uint8Array;
};

/**
 * @param columns inferred, so that `holds` is known.
 * @param about is kept within the file, as JSON under the key `market-mirror`.
 */
export function parquetWriter(columns: readonly Column[], about: unknown): ParquetPieces {
  const names = distinctNames(columns);
  const formed = columns.map((column) => forms[kindOf(column)]);
  const bytes = new ByteWriter();
  const writer = new ParquetWriter({
    writer: bytes,
    schema: [
      { name: 'root', num_children: columns.length },
      ...formed.map(({ element }, at) => ({
        name: names[at] ?? '',
        repetition_type: 'OPTIONAL' as const,
        ...element,
      })),
    ],
    kvMetadata: [{ key: 'market-mirror', value: JSON.stringify(about) }],
    createdBy: 'market-mirror',
  });
  const group = { columns: names.map((): unknown[] => []), rows: 0, characters: 0 };

  function takeBytes(): Uint8Array {
    const piece = bytes.getBytes().slice();
    bytes.index = 0;
    return piece;
  }

  function closeGroup(): void {
    if (group.rows === 0) return;
    const columnData = names.map((name, at) => ({ name, data: group.columns[at] ?? [] }) as ColumnSource);
    writer.write({ columnData, rowGroupSize: group.rows });
    Object.assign(group, { columns: names.map(() => []), rows: 0, characters: 0 });
  }

  return {
    rows(batch) {
      for (const row of batch)
        row.forEach((cell, at) => {
          const value = cell === null ? null : formed[at]?.value(cell);
          if (value === undefined) throw changedType(names[at] ?? '');
          group.columns[at]?.push(value);
          if (typeof cell === 'string') group.characters += cell.length;
        });
      group.rows += batch.length;
      if (group.rows >= GROUP.rows || group.characters >= GROUP.characters) closeGroup();
      return takeBytes();
    },
    end() {
      closeGroup();
      writer.finish();
      return takeBytes();
    },
  };
}

/** Rows are read twice, once for their types: a query with random() or the time of day may answer otherwise. */
const changedType = (name: string) =>
  new Failure(
    'usage',
    `${name} has values of other types each time it is asked for: give it one, such as CAST(… AS TEXT) AS ${name}`,
  );

/** The types of the columns, for people and receipts. */
export function parquetTypes(columns: readonly Column[]): string[] {
  return columns.map((column) => forms[kindOf(column)].shown);
}

type Kind = Exclude<ValueType, 'mixed' | 'nothing'>;

type Element = ConstructorParameters<typeof ParquetWriter>[0]['schema'][number];

type Form = {
  /** The type for people. */
  shown: string;
  element: Omit<Element, 'name' | 'repetition_type'>;
  /** Undefined for a value of another type. */
  value(cell: NonNullable<Cell>): unknown;
};

const forms: Record<Kind, Form> = {
  boolean: {
    shown: 'BOOLEAN',
    element: { type: 'BOOLEAN' },
    value: (cell) => (cell === 1 || cell === 1n ? true : cell === 0 || cell === 0n ? false : undefined),
  },
  integer: {
    shown: 'INT64',
    element: { type: 'INT64' },
    value: (cell) =>
      typeof cell === 'bigint' ? cell : Number.isSafeInteger(cell) ? BigInt(cell as number) : undefined,
  },
  real: {
    shown: 'DOUBLE',
    element: { type: 'DOUBLE' },
    value: (cell) => (typeof cell === 'number' || typeof cell === 'bigint' ? Number(cell) : undefined),
  },
  timestamp: {
    shown: 'TIMESTAMP(MICROS, UTC)',
    element: {
      type: 'INT64',
      converted_type: 'TIMESTAMP_MICROS',
      logical_type: { type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS' },
    },
    value: (cell) => (typeof cell === 'string' ? microsOf(cell) : undefined),
  },
  text: {
    shown: 'STRING',
    element: { type: 'BYTE_ARRAY', converted_type: 'UTF8' },
    value: (cell) => (cell instanceof Uint8Array ? hex(cell) : String(cell)),
  },
  bytes: {
    shown: 'BYTE_ARRAY',
    element: { type: 'BYTE_ARRAY' },
    value: (cell) => (cell instanceof Uint8Array ? cell : undefined),
  },
};

function kindOf({ name, type, holds }: Column): Kind {
  if (holds === 'mixed' || holds === undefined) return 'text';
  if (holds !== 'nothing') return holds;
  if (ownTimes.includes(name)) return 'timestamp';
  return type === 'INTEGER' ? 'integer' : type === 'REAL' ? 'real' : 'text';
}
