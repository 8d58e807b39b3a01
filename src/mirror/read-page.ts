/** A page as the walk and the store need it: asked for, checked, and held against what the mirror knows. */

import { createHash } from 'node:crypto';
import type { Api } from '../api/client.ts';
import type { Job } from '../job.ts';
import type { CheckedPage, Page } from '../page.ts';
import type { Store, WalkSession } from '../store/index.ts';
import { checkPage } from '../validate.ts';

export function pageReader(
  job: Job,
  session: WalkSession,
  { api, store }: { api: Api; store: Store },
  signal: AbortSignal,
): (offset: number, limit: number) => Promise<Page> {
  let choice = store.choice(job.name);
  return async (offset, limit) => {
    const request = { job: job.name, walkId: session.row.id, path: job.path, query: { offset, limit } };
    const { text, json, call } = await api.get(request, signal);
    const page = checkPage(job, text, json, choice);
    if (page.choice && page.choice !== choice) store.keepChoice(job.name, page.choice);
    choice = page.choice;
    const digest = offset === 0 && typeof page.generatedAt === 'string' ? digestOf(job, page) : undefined;
    return { ...page, offset, seen: session.lookUp(page), digest, call };
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
