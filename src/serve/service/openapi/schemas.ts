/** The schemas of bodies. Every object that the specification names is a component of that name. */

import type { ListedJob, Schema } from '../../../job-list.ts';
import { usageSchema } from '../usage.ts';

export const schemaNamed = (name: string): Schema => ({ $ref: `#/components/schemas/${name}` });

export const verdicts = ['snapshot', 'verified', 'union'];

const count = { type: 'integer', minimum: 0 };

/** Those that all lists and errors share (specification, "StandardPagination" and "Error"), and rows of which it shows nothing. */
const shared: Readonly<Record<string, Schema>> = {
  StandardPagination: objectOf({
    offset: count,
    limit: { type: 'integer', minimum: 1, maximum: 100 },
    total: { ...count, description: 'Rows of the whole list, or of those that the filters select.' },
    returned: { ...count, description: 'Rows in this page.' },
    hasMore: { type: 'boolean', description: 'True when more rows exist beyond this page.' },
  }),
  Error: objectOf({
    error: { type: 'string', description: 'Machine-readable error code.' },
    message: { type: 'string', description: 'Human-readable text.' },
  }),
  Readiness: openObjectOf({
    ready: { type: 'boolean' },
    mirror: { type: 'string', enum: ['readable', 'unreadable'] },
    keys: { type: 'string', enum: ['readable', 'unreadable'] },
    datasets: {
      type: 'array',
      items: openObjectOf({
        job: { type: 'string' },
        ready: { type: 'boolean' },
        verdict: { type: ['string', 'null'], enum: [...verdicts, null] },
        completeAsOf: { type: ['string', 'null'], format: 'date-time' },
        ageSeconds: { type: ['number', 'null'] },
        boundSeconds: { type: ['number', 'null'], description: 'The greatest age that is ready.' },
        why: { type: ['string', 'null'], description: 'Why it is not ready, in a word.' },
      }),
    },
  }),
  Usage: usageSchema,
  UnspecifiedRow: {
    type: 'object',
    description: 'A row as the mirror received it: its fields are not specified.',
    additionalProperties: true,
  },
};

/** Where upstream tells when it published the list, the page tells it, too. */
const unspecifiedPage: Schema = { properties: { generatedAt: { type: ['string', 'null'] } }, required: [] };

/** Collects the schemas of pages and what they refer to. */
export function openSchemas() {
  const components = new Map<string, Schema>(Object.entries(shared));

  /** The schema with every named object in it replaced by a reference. */
  function named(schema: Schema): Schema {
    const { title, ...rest } = mapSchema(schema, named);
    if (title === undefined) return rest;
    const known = components.get(title);
    if (known && JSON.stringify(known) !== JSON.stringify(rest))
      throw new Error(`two objects that differ are named ${title}`);
    components.set(title, rest);
    return schemaNamed(title);
  }

  return {
    pageOf({ name, schemas }: ListedJob): Schema {
      const { title = `${pascalCase(name)}Page`, properties, required } = schemas?.page ?? unspecifiedPage;
      const page = objectOf({
        ...properties,
        rows: { type: 'array', items: schemas?.row ?? schemaNamed('UnspecifiedRow') },
        pagination: schemaNamed('StandardPagination'),
      });
      return named({ title, ...page, required: [...(required ?? []), 'rows', 'pagination'] });
    },
    all: (): Record<string, Schema> =>
      Object.fromEntries([...components].sort(([a], [b]) => (a < b ? -1 : 1))),
  };
}

/** All of its properties and no others. */
function objectOf(properties: Readonly<Record<string, Schema>>): Schema {
  return { type: 'object', properties, required: Object.keys(properties), additionalProperties: false };
}

/** What later releases may add to. */
function openObjectOf(properties: Readonly<Record<string, Schema>>): Schema {
  return { ...objectOf(properties), additionalProperties: true };
}

function mapSchema(schema: Schema, change: (inner: Schema) => Schema): Schema {
  const { properties, items, anyOf } = schema;
  return {
    ...schema,
    ...(properties && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([name, inner]) => [name, change(inner)]),
      ),
    }),
    ...(items && { items: change(items) }),
    ...(anyOf && { anyOf: anyOf.map(change) }),
  };
}

function pascalCase(name: string): string {
  return name.replace(/(?:^|-)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
