/** The properties of rows as their schema lists them, and the columns that hold them. */

/** The part of JSON Schema in which zod describes our contracts. `title` is the name that the specification gives an object. */
export type Schema = Readonly<{
  title?: string;
  type?: string | readonly string[];
  const?: string;
  properties?: Readonly<Record<string, Schema>>;
  required?: readonly string[];
  additionalProperties?: boolean | Schema;
  items?: Schema;
  anyOf?: readonly Schema[];
  [keyword: string]: unknown;
}>;

/** In snake_case, with names that lead to a value joined by `_`. */
export const columnName = (path: readonly string[]) =>
  path.map((name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)).join('_');

/** The number of a row, never given twice: walks, volatile values and sinks know the row by it. No view shows it. */
export const NUMBER = 'number';

/** The name that a column of a dataset has in its table, where the name of the number is taken. */
export const storedName = (column: string): string => (column === NUMBER ? `${NUMBER}_` : column);

/** `value`: the schema of a value that is not null. */
type Property = { column: string; path: readonly string[]; description: string | undefined; value: Schema };

/** The properties of an object and of its inner objects, each before its members. */
export function* propertiesOf(
  { properties = {} }: Schema,
  around: readonly string[] = [],
): Generator<Property> {
  for (const [name, schema] of Object.entries(properties)) {
    const path = [...around, name];
    const value = schema.anyOf?.find(({ type }) => type !== 'null') ?? schema;
    const description = (schema['description'] ?? value['description']) as string | undefined;
    yield { column: columnName(path), path, description, value };
    yield* propertiesOf(value, path);
  }
}
