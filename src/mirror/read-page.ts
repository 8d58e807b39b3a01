/** A page as the walk and the store need it: asked for, checked, and held against what the mirror knows. */

import type { Job } from '../job.ts';
import type { MirrorParts } from '../mirror.ts';
import type { Call, Drift, MetRow, RefusedRow, WalkSession } from '../store/index.ts';
import { checkPage } from '../validate.ts';
import type { PageFacts } from '../walk/place.ts';

export type ReadPage = PageFacts & { rows: MetRow[]; refused: RefusedRow[]; drifts: Drift[]; call: Call };

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
    const seen = keys.map((key) => key !== null && (met.get(key) ?? session.hasRefused(key)));
    return { ...rest, offset, rows, keys, seen, call };
  };
}
