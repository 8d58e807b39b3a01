/** A page as the walk and the store need it: asked for, checked, and held against what the mirror knows. */

import { createHash } from 'node:crypto';
import type { Job } from '../job.ts';
import type { Call, Drift, MetRow, PageFields, RefusedRow, WalkSession } from '../store/index.ts';
import { type CheckedPage, checkPage } from '../validate.ts';
import type { PageFacts } from '../walk/checkpoint.ts';
import type { MirrorParts } from './parts.ts';

export type ReadPage = PageFacts & {
  rows: MetRow[];
  refused: RefusedRow[];
  drifts: Drift[];
  fields: PageFields;
  call: Call;
};

export function pageReader(
  job: Job,
  session: WalkSession,
  { api, store }: MirrorParts,
  signal: AbortSignal,
): (offset: number, limit: number) => Promise<ReadPage> {
  let choice = store.choice(job.name);
  return async (offset, limit) => {
    const request = { job: job.name, walkId: session.row.id, path: job.path, query: { offset, limit } };
    const { text, json, call } = await api.get(request, signal);
    const page = checkPage(job, text, json, choice);
    if (page.choice && page.choice !== choice) store.keepChoice(job.name, page.choice);
    choice = page.choice;
    const { accepted, keys, ...rest } = page;
    const rows = session.examine(accepted);
    const met = new Map(rows.map((row) => [row.key, row.seen]));
    const seen = keys.map((key) => key !== null && (met.get(key) ?? session.hasMet(key)));
    const digest = offset === 0 && typeof page.generatedAt === 'string' ? digestOf(job, page) : undefined;
    return { ...rest, offset, rows, keys, seen, digest, call };
  };
}

/** What a page says, apart from columns that change while their record does not. */
function digestOf(job: Job, { keys, accepted, refused }: CheckedPage): string {
  const stable = accepted.map(({ values }) =>
    Object.entries(values).filter(([column]) => !job.contract?.volatile.includes(column)),
  );
  const problems = refused.map((row) => row.problems);
  return createHash('sha256')
    .update(JSON.stringify([keys, stable, problems]))
    .digest('base64');
}
