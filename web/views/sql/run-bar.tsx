/** Starts a query and ends it; says meanwhile how far it is. */

import { useEffect, useState } from 'preact/hooks';
import { localNow } from '../../clock.ts';
import { count, number } from '../../formats.ts';
import { Select } from '../../parts/select.tsx';
import type { Run } from './run.ts';

type Props = {
  run: Run | null;
  limit: number;
  limits: readonly number[];
  choose(limit: number): void;
  start(): void;
  stop(): void;
};

export function RunBar({ run, limit, limits, choose, start, stop }: Props) {
  const isRunning = run !== null && run.end === null;
  return (
    <div class="run-bar tools">
      {/* One button for both, so that the focus stays where it is. */}
      <button type="button" class={isRunning ? '' : 'main'} onClick={isRunning ? stop : start}>
        {isRunning ? 'Cancel' : 'Run'}
      </button>
      <span class="note keys">Ctrl-Enter, or ⌘-Enter</span>
      <label>
        At most{' '}
        <Select
          value={limit}
          options={limits.map((each) => [each, `${number(each)} rows`] as const)}
          choose={choose}
        />
      </label>
      {isRunning && <Progress run={run} />}
      <span class="unseen" role="status">
        {isRunning ? 'The query runs' : run?.end ? `${endOf(run)}` : ''}
      </span>
    </div>
  );
}

function Progress({ run }: { run: Run }) {
  const [, tick] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => tick(localNow()), 100);
    return () => clearInterval(timer);
  }, []);
  const seconds = Math.max(0, localNow() - run.begunAt) / 1_000;
  return (
    <span class="progress">
      <span class="dot" aria-hidden="true" /> {run.opened ? `${count(run.count, 'row')} so far` : 'running'}
      {' · '}
      {seconds.toFixed(1)} s
    </span>
  );
}

const endOf = ({ end, count: rows }: Run) =>
  end?.trouble ? `It failed: ${end.trouble.message}` : count(rows, 'row');
