/** The suite covers the specification: every row of its tables. */

import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it, type TestContext } from 'vitest';
import { z } from 'zod';
import * as suite from './specification.ts';

const folder = fileURLToPath(new URL('.', import.meta.url));

const schemas = {
  AiSignalPage: suite.AiSignalPage,
  AiSignal: suite.AiSignal,
  SignalValidator: suite.SignalValidator,
  SignalQuality: suite.SignalQuality,
  DualAiSummary: suite.DualAiSummary,
  StandardPagination: suite.StandardPagination,
  'Paging parameters': suite.PagingParameters,
  Errors: suite.ErrorBody,
};
const proseTables = ['Errors', 'Limits'];

it('there are these tables and no others', (context) => {
  const found = tablesOf(specification(context)).map(({ heading }) => heading);
  expect(found.sort()).toEqual([...Object.keys(schemas), ...proseTables].sort());
});

it.for(Object.entries(schemas))(
  '%s has the fields of its table, of the same types',
  ([name, schema], context) => {
    const table = tablesOf(specification(context)).find(({ heading }) => heading === name);
    expect(z.toJSONSchema(schema, { io: 'input' })).toEqual(
      z.toJSONSchema(table ? schemaOf(table) : z.never(), { io: 'input' }),
    );
  },
);

it('the endpoints have the paths, scopes, filters and lanes of their sections', (context) => {
  const text = specification(context);
  const sections = [...text.matchAll(/^### GET \/api\/v1\/(?<name>\S+)\n\n(?<about>[^#]*)/gm)];
  const required = sections.map(({ groups: { name = '', about = '' } = {} }) => {
    const [, scope] = /Required scope: (\S+:read)\b/.exec(about) ?? [];
    return [name, scope ?? null];
  });
  expect(Object.fromEntries(required)).toEqual(suite.requiredScopes);
  expect(text).toContain(`the filters ${suite.filters.news.join(', ')}.`);
  expect(text).toContain(`Allowed values of lane: ${suite.lanes.join(', ')}.`);
});

/** Its text without marks of code. It lies beside the project; the project can be used without it. */
function specification({ skip }: TestContext): string {
  const place = join(folder, '../../../shared/api-specification.md');
  if (!existsSync(place)) skip('the specification does not lie beside the project');
  return readFileSync(place, 'utf8').replaceAll('`', '');
}

type Table = {
  heading: string;
  /** What is said of the table in its section. */
  about: string;
  rows: Record<string, string>[];
};

function tablesOf(markdown: string): Table[] {
  return markdown.split(/^#+ /m).flatMap((section) => {
    const [heading = ''] = section.split(/ \(|\n/);
    return [...section.matchAll(/(?:^\|.*\n)+/gm)].map(([table]) => {
      const [names = [], , ...lines] = table.trim().split('\n').map(cellsOf);
      const rows = lines.map((cells) => Object.fromEntries(names.map((name, at) => [name, cells[at] ?? ''])));
      return { heading, about: section, rows };
    });
  });
}

function cellsOf(line: string): string[] {
  return line
    .split('|')
    .slice(1, -1)
    .map((cell) => cell.trim());
}

/** A table of fields or of parameters as a schema. */
function schemaOf({ about, rows }: Table): z.ZodType {
  const areOptional = about.includes('none of them is required');
  const fields = rows.map((row): [string, z.ZodType] => {
    const { Field, Parameter, Type = '', Nullable, Required, Default } = row;
    const type = typeOf(Type.replace(' or null', ''), `${row['Rule']}; ${row['Notes']}; ${row['Range']}`);
    const isNullable = Nullable === 'yes' || Type.endsWith(' or null');
    const field = isNullable ? type.nullable() : type;
    if (Default) return [Parameter ?? '', field.default(Number(Default))];
    return [Field ?? '', areOptional || Required === 'no' ? field.optional() : field];
  });
  return z.strictObject(Object.fromEntries(fields));
}

function typeOf(type: string, rule: string): z.ZodType {
  const [, constant] = /Always the constant ([\w-]+)/.exec(rule) ?? [];
  const [, values] = /One of ([^;]+)/.exec(rule) ?? [];
  const [, element] = /^array of (\w+)$/.exec(type) ?? [];
  const [, least, most] = /(?:Minimum (?=\d)|(?=\d+ to ))(\d+)(?: to (\d+))?/.exec(rule) ?? [];
  const bounded = (number: z.ZodNumber) => {
    const above = least === undefined ? number : number.min(Number(least));
    return most === undefined ? above : above.max(Number(most));
  };
  if (constant) return z.literal(constant);
  if (values) return z.enum(values.split(', '));
  if (element) return z.array(typeOf(element, ''));
  if (type in schemas) return schemas[type as keyof typeof schemas];
  const simple: Record<string, () => z.ZodType> = {
    string: () => z.string(),
    'string (date-time)': () => z.iso.datetime({ offset: true }),
    boolean: () => z.boolean(),
    number: () => bounded(z.number()),
    integer: () => bounded(z.int()),
  };
  return simple[type]?.() ?? expect.fail(`the suite does not know the type ${type}`);
}
