/** What was found out of a list without a contract, and which of its fields are ages: read and kept as it is, in one place. */

import { type DiscoveredShape, type FieldPath, unknownShape } from '../validate/checked.ts';
import type { Motion } from '../validate/motion.ts';
import type { Connection } from './connection.ts';

export type Findings = { shape: DiscoveredShape; motions: readonly Motion[] };

export function readFindings(connection: Connection, job: string): Findings {
  const found = connection
    .prepare<[string], { shape: string | null; motions: string }>(
      'SELECT shape, motions FROM _datasets WHERE job = ?',
    )
    .get(job);
  return {
    shape: { ...unknownShape, ...(JSON.parse(found?.shape ?? '{}') as Partial<DiscoveredShape>) },
    motions: found ? (JSON.parse(found.motions) as Motion[]) : [],
  };
}

export function keepFindings(connection: Connection, job: string, { shape, motions }: Findings): void {
  connection
    .prepare<[string, string, string]>(
      `INSERT INTO _datasets (job, shape, motions) VALUES (?, ?, ?)
       ON CONFLICT DO UPDATE SET shape = excluded.shape, motions = excluded.motions`,
    )
    .run(job, JSON.stringify(shape), JSON.stringify(motions));
}

/** The fields that move by themselves and are kept current without a version: those that the user says, else those that were found. */
export const agesOf = ({ shape, motions }: Findings): readonly FieldPath[] =>
  shape.told.volatile ?? motions.flatMap(({ path, isAge }) => (isAge ? [path] : []));
