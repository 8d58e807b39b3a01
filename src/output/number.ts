/** A number as every output writes it: one that is whole, below 2^53, has no fraction, whatever the type of its column. */

/** Every digit of an integer beyond those is kept. */
export const numberText = (value: number | bigint): string => String(value);

/** SQL for the same number where SQLite writes the JSON: it would make `87.0` of a whole number in a column of reals. */
export const numberSql = (column: string): string =>
  `CASE WHEN abs(${column}) < ${2 ** 53} AND ${column} = CAST(${column} AS INTEGER) THEN CAST(${column} AS INTEGER) ELSE ${column} END`;
