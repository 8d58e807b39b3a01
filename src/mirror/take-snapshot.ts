/** A dataset that is kept as snapshots: one call, one row, whatever the response looks like. */

import type { Job } from '../job.ts';
import type { WalkRow, WalkSession } from '../store/index.ts';
import { checkSnapshot, describeBreach } from '../validate.ts';
import { beginning } from '../walk/checkpoint.ts';
import { giveUp } from './give-up.ts';
import type { MirrorParts } from './parts.ts';
import { recordOf } from './place-record.ts';

export async function takeSnapshot(
  job: Job,
  session: WalkSession,
  { api, progress }: MirrorParts,
  signal: AbortSignal,
): Promise<WalkRow> {
  const request = { job: job.name, walkId: session.row.id, path: job.path, query: {} };
  const { text, json, call } = await api.get(request, signal);
  const checked = checkSnapshot(text, json, `${call.at} ${session.row.id}`, call.at);
  const place = recordOf({ ...beginning, pages: 1, rows: 1 });
  const saved = session.savePage({ page: { ...checked, call }, place, met: 'add' });
  progress?.({ job: job.name, walk: session.row, saved, callsLeft: call.rateRemaining });
  const breach = describeBreach({ ...checked, received: 1, offset: 0 });
  if (breach) throw giveUp(session, 'contract', `${job.name}: ${breach}`);
  return await session.finish({ verdict: 'snapshot' });
}
