/** Changes after the first load: rows that got another value, each with the version that it had before. */

import { join } from 'node:path';
import { isoTime } from '../../../src/clock.ts';
import { Database } from '../../../src/store/sqlite.ts';
import { median } from '../../figures.ts';
import { atLeast, type Table, targetHeads } from '../serve/table.ts';
import type { Shipping } from './shipping.ts';

export async function measureChanges({ folder, ship }: Shipping, rows: number, runs: number): Promise<Table> {
  const taken: number[] = [];
  const idle: number[] = [];
  for (let run = 0; run < runs; run += 1) {
    idle.push((await ship()).seconds);
    change(folder, Date.now());
    taken.push((await ship()).seconds);
  }
  // What a command takes to start, connect and look is not of the changes: the daemon's thread has that behind it.
  const work = taken.map((seconds, run) => seconds - (idle[run] ?? 0));
  const perSecond = rows / median(work);
  return {
    about: `${rows.toLocaleString('en-US')} changed rows of ai-signals, and a version of each, medians of ${runs} runs`,
    heads: ['', 's', 'nothing new, s', 'changes/s between', ...targetHeads],
    rows: [
      [
        'ship',
        median(taken).toFixed(2),
        median(idle).toFixed(2),
        perSecond.toFixed(0),
        ...atLeast(perSecond, 10_000),
      ],
    ],
  };
}

/** As a walk would: every row gets another status. */
function change(folder: string, at: number): void {
  const mirror = new Database(join(folder, 'mirror.db'));
  try {
    mirror.exec(`BEGIN IMMEDIATE;
      UPDATE ai_signals_rows SET status = 'at ${at}', _changed_at = '${isoTime(at)}';
      UPDATE datasets SET last_seq = ${at} WHERE job = 'ai-signals';
      UPDATE walks SET last_seq = ${at} WHERE id = (SELECT max(id) FROM walks WHERE job = 'ai-signals');
      COMMIT`);
  } finally {
    mirror.close();
  }
}
