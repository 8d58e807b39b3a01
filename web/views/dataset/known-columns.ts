/** What is known of the columns of a dataset, asked once and kept. */

import { useMemo } from 'preact/hooks';
import type { PageQuestion, Schema } from '../../../src/serve/ui/wire.ts';
import { type Query, useAnswer } from '../../ask.ts';
import type { Answer } from '../../service.ts';
import { name } from '../../sql.ts';
import { type Column, columnsOfFields, columnsOfSample, type Field } from './columns.ts';
import { cutValue } from './rows-sql.ts';

export type Dataset = Schema['jobs'][number] & { declared: Schema['tables'][number]['columns'] };

const SAMPLE_ROWS = 50;

/** `columns` is null until they are known. */
export function useColumns(dataset: Dataset): { columns: Column[] | null; query: Query<Answer> } {
  const query = useAnswer(questionOf(dataset));
  const answer = query.value;
  const columns = useMemo(() => {
    if (!answer) return null;
    const { declared, isSpecified } = dataset;
    return isSpecified
      ? columnsOfSample(declared, answer.rows)
      : columnsOfFields(declared, answer.rows.map(fieldOf));
  }, [answer, dataset.declared]);
  return { columns, query };
}

function questionOf({ name: job, table, declared, isSpecified }: Dataset): PageQuestion {
  if (!isSpecified)
    return {
      sql: 'SELECT "column", types, example FROM fields WHERE job = :job',
      params: { job },
      limit: 1_000,
    };
  const columns = declared.map((column) => cutValue(column.name)).join(', ');
  return { sql: `SELECT ${columns} FROM ${name(table)} LIMIT ${SAMPLE_ROWS}`, limit: SAMPLE_ROWS };
}

function fieldOf([column, types, example]: Answer['rows'][number]): Field {
  return {
    column: String(column),
    types: JSON.parse(String(types)) as string[],
    example: typeof example === 'string' ? example : null,
  };
}
