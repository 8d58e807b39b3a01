import { expect, test } from 'vitest';
import type { ListedJob, Schema } from '../../../src/job-list.ts';
import { openSchemas } from '../../../src/serve/service/openapi.ts';

const object = (properties: Record<string, Schema>, title?: string): Schema => ({
  ...(title !== undefined && { title }),
  type: 'object',
  properties,
  required: Object.keys(properties),
  additionalProperties: false,
});

function jobOf(name: string, row: Schema): ListedJob {
  const nothing = { operation: null, scope: null, reading: 'walk', filters: {} } as const;
  return { name, about: name, path: `/${name}`, ...nothing, schemas: { page: object({}), row } } as never;
}

test('a page without a name has that of its endpoint, and a row without one stands in it', () => {
  const schemas = openSchemas();
  const row = object({ id: { type: 'string' } });
  expect(schemas.pageOf(jobOf('funding-rates', row))).toEqual({
    $ref: '#/components/schemas/FundingRatesPage',
  });
  expect(schemas.all()['FundingRatesPage']).toMatchObject({
    properties: { rows: { items: row }, pagination: { $ref: '#/components/schemas/StandardPagination' } },
    required: ['rows', 'pagination'],
    additionalProperties: false,
  });
});

test('objects with a name are shown once under it, however deep they are', () => {
  const schemas = openSchemas();
  const leg = object({ price: { type: 'number' } }, 'Leg');
  const orNull = { anyOf: [leg, { type: 'null' }] };
  schemas.pageOf(jobOf('swaps', object({ legs: { type: 'array', items: leg }, last: orNull }, 'Swap')));
  const { Swap, Leg } = schemas.all();
  const named = { $ref: '#/components/schemas/Leg' };
  expect(Swap?.properties).toEqual({
    legs: { type: 'array', items: named },
    last: { anyOf: [named, { type: 'null' }] },
  });
  expect(Leg).toEqual(object({ price: { type: 'number' } }));
});

test('two objects that differ cannot have one name', () => {
  const schemas = openSchemas();
  schemas.pageOf(jobOf('one', object({ id: { type: 'string' } }, 'Row')));
  const other = jobOf('other', object({ id: { type: 'number' } }, 'Row'));
  expect(() => schemas.pageOf(other)).toThrow('two objects that differ are named Row');
});
