/** Loads the files of `jobs/`, which are named after their jobs. One bad file stops the start. */

import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';
import { Failure, toError } from '../base/errors.ts';
import { parseSchedule } from '../base/schedule.ts';
import type { Job } from '../job.ts';

const here = new URL('../../jobs/', import.meta.url);

const declaration = (name: string) =>
  z.object({
    name: z.literal(name),
    about: z.string().min(1),
    path: z.string().regex(/^\/[\w./-]+$/, 'is not a path such as /api/v1/news'),
    scope: z.string().min(1).nullable(),
    schedule: z.string().refine(isSchedule, 'is not a schedule such as "every 2m"'),
    weight: z.number().positive(),
    reading: z.enum(['list', 'response']),
    tables: z.object({ rows: z.object() }),
  });

/** @throws Failure `bug` that names the file and what is wrong with it. */
export async function loadJobs(folder: URL = here): Promise<Job[]> {
  const files = readdirSync(folder).filter((file) => /\.[jt]s$/.test(file) && !file.endsWith('.d.ts'));
  return await Promise.all(files.sort().map((file) => loadJob(folder, file)));
}

async function loadJob(folder: URL, file: string): Promise<Job> {
  const name = file.replace(/\.[jt]s$/, '');
  const where = fileURLToPath(new URL(file, folder));
  const bad = (what: string, cause?: unknown) => new Failure('bug', `${where}: ${what}`, { cause });
  if (!/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(name))
    throw bad(`a job's file is named in lower case with hyphens, such as ai-signals.ts`);
  let declared: unknown;
  try {
    declared = ((await import(new URL(file, folder).href)) as { default?: unknown }).default;
  } catch (thrown) {
    throw bad(`cannot be loaded: ${toError(thrown).message}`, thrown);
  }
  const [issue] = declaration(name).safeParse(declared).error?.issues ?? [];
  if (issue) throw bad(`its default export is no job: ${issue.path.join('.')} ${issue.message}`);
  return declared as Job;
}

function isSchedule(text: string): boolean {
  try {
    parseSchedule(text);
    return true;
  } catch {
    return false;
  }
}
