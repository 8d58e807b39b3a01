/** What the columns of a specified dataset mean, read off its contract. */

import { z } from 'zod';
import type { Job } from '../../src/job.ts';

/** The part of JSON Schema in which zod describes our contracts. */
type Shape = {
  type?: string | string[];
  description?: string;
  enum?: string[];
  minimum?: number;
  maximum?: number;
  items?: Shape;
  properties?: Record<string, Shape>;
  anyOf?: Shape[];
};

/** By column. A column is named after the property that it shows; nested names are joined by `_`. */
export function meaningsOf({ contract }: Job): Map<string, string> {
  const meanings = new Map<string, string>();
  if (!contract) return meanings;
  collect(z.toJSONSchema(contract.row) as Shape, [], meanings);
  for (const column of contract.volatile)
    meanings.set(column, `${meanings.get(column)}; volatile: kept current, but makes no version`);
  return meanings;
}

function collect(shape: Shape, path: string[], meanings: Map<string, string>): void {
  const value = shape.anyOf?.find(({ type }) => type !== 'null') ?? shape;
  if (path.length > 0) {
    const rule = [shape.description, ruleOf(value)].filter(Boolean).join('; ');
    meanings.set(path.map(snakeCase).join('_'), `\`${path.join('.')}\`${rule && `: ${rule}`}`);
  }
  for (const [name, inner] of Object.entries(value.properties ?? {}))
    collect(inner, [...path, name], meanings);
}

function ruleOf({ type, enum: values, minimum, maximum, items }: Shape): string {
  const kinds = [type].flat();
  if (values) return values.map((value) => `\`${value}\``).join(', ');
  if (kinds.includes('boolean')) return '0 or 1';
  if (kinds.includes('array')) return `JSON array of ${items?.type === 'string' ? 'text' : 'values'}`;
  if (kinds.includes('object')) return 'JSON object';
  const bounds = [
    minimum !== undefined && `at least ${minimum}`,
    maximum !== undefined && `at most ${maximum}`,
  ];
  return bounds.filter(Boolean).join(', ');
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
