/** What the specification says of an endpoint's pages and rows, as JSON Schema: for those who describe the service to others. */

import * as z from 'zod';
import type { Job } from '../job.ts';

/** The part of JSON Schema in which zod describes our contracts; objects that the specification names have its name as `title`. */
export type Schema = Readonly<{
  title?: string;
  type?: string | readonly string[];
  properties?: Readonly<Record<string, Schema>>;
  required?: readonly string[];
  additionalProperties?: boolean | Schema;
  items?: Schema;
  anyOf?: readonly Schema[];
  [keyword: string]: unknown;
}>;

/** An endpoint as others are told of it. */
export type DescribedJob = Pick<Job, 'name' | 'about' | 'path' | 'scope' | 'reading' | 'filters'> & {
  operation: string | null;
  /** Of the page without `rows` and `pagination`, and of a row; null where neither is specified. */
  contract: { page: Schema; row: Schema } | null;
};

export function described(job: Job): DescribedJob {
  const { name, about, path, scope, reading, filters, contract, operation = null } = job;
  const schemas = contract && { page: schemaOf(contract.page), row: schemaOf(contract.row) };
  return { name, about, path, operation, scope, reading, filters, contract: schemas ?? null };
}

function schemaOf(type: z.ZodType): Schema {
  const { $schema, ...schema } = z.toJSONSchema(type, {
    // The format says the same to readers, and a pattern has no flags there.
    override: ({ jsonSchema }) => {
      if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
    },
  });
  return schema as Schema;
}
