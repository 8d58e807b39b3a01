/** The reports for the page, beside what `status` says of them, and the last file of one: from the folder of their files alone. */

import { createReadStream, realpathSync, statSync } from 'node:fs';
import { basename, relative, sep } from 'node:path';
import { type Clock, isoTime } from '../../base/clock.ts';
import { exactDuration } from '../../output/numbers.ts';
import { type Report, reportDue, reportOf } from '../../reports.ts';
import type { WatchedMirror } from '../answers/mirror.ts';
import type { Call } from '../http/handler.ts';
import { type HttpResponse, jsonResponse, type StreamedResponse } from '../http/response.ts';
import { failedResponse } from './requests.ts';
import type { PageReport } from './wire.ts';

type Known = {
  name: string;
  sql: string;
  ranAt: string | null;
  error: string | null;
  failures: number;
  file: string | null;
};

/** @param folder of their files. */
export function openReports(mirror: Pick<WatchedMirror, 'read'>, folder: string, clock: Pick<Clock, 'now'>) {
  const known = (): readonly Known[] =>
    mirror.read(({ connection }) =>
      connection
        .prepare<[], Known>(
          `SELECT name, sql, ran_at AS ranAt, error, failures, receipt ->> 'file' AS file FROM _reports ORDER BY name`,
        )
        .all(),
    ) ?? [];

  function describe({ file, ...row }: Known): PageReport {
    const { name, sql } = row;
    const found = file === null ? undefined : fileWithin(folder, file);
    const report = reportOf(name, sql);
    const plan = report && planOf(report, row, clock.now());
    return { report: name, sql, run: null, nextRun: null, ...plan, file: found?.path ?? null };
  }

  return {
    list: (): HttpResponse => jsonResponse(200, known().map(describe)),
    file({ params }: Call): StreamedResponse {
      const file = known().find(({ name }) => name === params['name'])?.file;
      const found = file ? fileWithin(folder, file) : undefined;
      if (!found) return failedResponse(404, 'incomplete', 'this report has no file that can be read');
      const headers = {
        // What it holds came from elsewhere: a browser saves it, and shows none of it as a page of ours.
        'Content-Type': 'application/octet-stream',
        'Content-Disposition': `attachment; filename*=UTF-8''${encodeURIComponent(basename(found.path))}`,
        'Cache-Control': 'no-store',
      };
      return {
        status: 200,
        headers,
        async body(write) {
          for await (const piece of createReadStream(found.real)) await write(piece as Buffer);
        },
      };
    },
  };
}

function planOf(report: Report, row: Omit<Known, 'file'>, now: number): Pick<PageReport, 'run' | 'nextRun'> {
  const { run } = report;
  const said = run === 'on change' ? run : 'every' in run ? `every ${exactDuration(run.every)}` : run.cron;
  const facts = { now, latestChanges: new Map<string, number>(), completeAsOf: () => now };
  const { at } = reportDue(report, { ...row, reads: [], seq: null, waits: null }, facts);
  return { run: said, nextRun: Number.isFinite(at) ? isoTime(at) : null };
}

/** A file below the folder, wherever links lead; undefined where it is elsewhere, or gone. `path`: below the folder. */
function fileWithin(folder: string, file: string): { real: string; path: string } | undefined {
  try {
    const [root, real] = [realpathSync(folder), realpathSync(file)];
    const isWithin = real.startsWith(`${root}${sep}`) && statSync(real).isFile();
    return isWithin ? { real, path: relative(root, real) } : undefined;
  } catch {
    return undefined;
  }
}
