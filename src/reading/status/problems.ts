/** What is wrong, the gravest first, each with what to do about it. */

import { CLOCK_ADVICE, describeAhead } from '../../clock.ts';
import { exitCodes } from '../../errors.ts';
import { plural } from '../../output/text.ts';
import type { Limits } from '../../plan/limits.ts';
import type { Outage } from '../../queue/index.ts';
import { LONG_LOG_BYTES } from '../../store/read.ts';
import type { LastCall } from './calls.ts';
import type { DatasetStatus } from './datasets.ts';

export type Problem = {
  /** An error makes the mirror unfit for reports; a warning is worth a look. */
  level: 'error' | 'warning';
  code:
    | 'queue-stuck'
    | 'key-refused'
    | 'scope-missing'
    | 'never-complete'
    | 'clock-ahead'
    | 'stale'
    | 'failed'
    | 'unproven'
    | 'removal-held'
    | 'quarantine'
    | 'drift'
    | 'long-log';
  /** Null where the problem is not of one dataset. */
  job: string | null;
  message: string;
  advice: string;
  /** What it alone makes of the exit code: 0 for a warning. */
  exitCode: number;
};

type Found = Omit<Problem, 'level'>;

/**
 * @param waits what the governor makes wait, or null where it has not begun to.
 * @param logBytes of the write-ahead log.
 */
export function findProblems(
  datasets: readonly DatasetStatus[],
  waits: Limits['waits'],
  lastCalls: ReadonlyMap<string, LastCall>,
  daemon: { queue: Outage | null } | null,
  logBytes: number,
): Problem[] {
  const refused = waits
    ? waits.some(({ reason }) => reason === 'key_refused')
    : [...lastCalls.values()].some(({ status }) => status === 401);
  const isForbidden = (job: string) =>
    waits
      ? waits.some((wait) => wait.job === job && wait.reason === 'forbidden')
      : lastCalls.get(job)?.status === 403;
  const found = [
    ...(refused ? [keyRefused] : []),
    ...(daemon?.queue ? [queueStuck(daemon.queue)] : []),
    ...datasets.flatMap((dataset) => [
      ...(isForbidden(dataset.job) ? [scopeMissing(dataset.job, lastCalls.get(dataset.job))] : []),
      ...notFresh(dataset, daemon !== null),
      ...lastWalk(dataset),
      ...refusedRows(dataset),
    ]),
    ...(logBytes > LONG_LOG_BYTES ? [longLog(logBytes)] : []),
  ];
  const isError = ({ exitCode }: Found) => exitCode !== exitCodes.done;
  return [...found.filter(isError), ...found.filter((problem) => !isError(problem))].map((problem) => ({
    level: isError(problem) ? 'error' : 'warning',
    ...problem,
  }));
}

const keyRefused: Found = {
  code: 'key-refused',
  job: null,
  message: 'the API refuses the key (401)',
  advice: 'set a valid MARKET_API_KEY, or put it into the file of MARKET_API_KEY_FILE',
  exitCode: exitCodes.key,
};

function queueStuck({ message, advice, since, errors }: Outage): Found {
  return {
    code: 'queue-stuck',
    job: null,
    message: `no run of the daemon begins since ${since}: ${message} (${errors} ${plural(errors, 'error')})`,
    advice: `${advice}; runs go on by themselves, and market-mirror sync needs no Redis`,
    exitCode: exitCodes.incomplete,
  };
}

function longLog(bytes: number): Found {
  return {
    code: 'long-log',
    job: null,
    message: `the write-ahead log is ${Math.round(bytes / 1e6)} MB long: a reader at work for long keeps it from being emptied`,
    advice:
      'end its query or transaction (fuser -v mirror.db names who has it open); the next walk empties the log',
    exitCode: exitCodes.done,
  };
}

function scopeMissing(job: string, call: LastCall | undefined): Found {
  const code = call?.status === 403 && call.errorCode ? ` (${call.errorCode})` : ' (403)';
  const named =
    call?.status === 403 && call.requestId ? `; ask the provider about X-Request-ID ${call.requestId}` : '';
  return {
    code: 'scope-missing',
    job,
    message: `the API refuses this dataset to the key${code}`,
    advice: `give the key the scope it lacks, allow this address, or switch the dataset off${named}`,
    exitCode: exitCodes.key,
  };
}

function notFresh(dataset: DatasetStatus, daemonLives: boolean): Found[] {
  const { job, fresh, completeAsOf, ageSeconds, doing } = dataset;
  if (fresh) return [];
  const exitCode = exitCodes.incomplete;
  const advice = nextStep(doing, daemonLives, job);
  if (completeAsOf === null)
    return [{ code: 'never-complete', job, message: 'has never been complete', advice, exitCode }];
  if (ageSeconds === null)
    return [
      {
        code: 'clock-ahead',
        job,
        message: describeAhead(completeAsOf),
        advice: `${CLOCK_ADVICE}; ${advice}`,
        exitCode,
      },
    ];
  return [
    {
      code: 'stale',
      job,
      message: `is older than it is meant to be: last complete as of ${completeAsOf}`,
      advice,
      exitCode,
    },
  ];
}

function nextStep(
  { state, until, reason }: DatasetStatus['doing'],
  daemonLives: boolean,
  job: string,
): string {
  if (state === 'running') return 'a walk is under way: wait for it to end';
  if (state === 'waiting') return `its walk goes on at ${until} (${reason}): wait, or raise the quota`;
  if (state === 'failed') return 'see why its last run failed';
  return daemonLives
    ? 'the daemon runs it when it is due: market-mirror plan says whether the quota will do, its log what went wrong'
    : `no daemon is running: market-mirror start, or market-mirror sync ${job}`;
}

function lastWalk({ job, doing, held }: DatasetStatus): Found[] {
  const exitCode = exitCodes.done;
  const found: Found[] = [];
  if (doing.state === 'failed')
    found.push({
      code: 'failed',
      job,
      message: `its last run failed: ${doing.message ?? 'no reason was noted'}`,
      advice: 'the next run goes on at the committed place; market-mirror doctor says what is wrong here',
      exitCode,
    });
  if (doing.state === 'idle' && doing.message !== null)
    found.push({
      code: 'unproven',
      job,
      message: `its last walk proved nothing: ${doing.message}`,
      advice: 'everything received is kept; the next walk tries again',
      exitCode,
    });
  if (held > 0)
    found.push({
      code: 'removal-held',
      job,
      message: `${held} ${plural(held, 'row')} gone upstream, too many or too doubtful to remove at once`,
      advice: 'they leave the table when the next proven walks agree',
      exitCode,
    });
  return found;
}

function refusedRows({ job, quarantined, drifts }: DatasetStatus): Found[] {
  const exitCode = exitCodes.done;
  const found: Found[] = [];
  if (quarantined > 0)
    found.push({
      code: 'quarantine',
      job,
      message: `${quarantined} ${plural(quarantined, 'row')} broke the contract and wait in quarantine`,
      advice: 'market-mirror quarantine list shows them with the reason',
      exitCode,
    });
  if (drifts > 0)
    found.push({
      code: 'drift',
      job,
      message: `${drifts} ${plural(drifts, 'difference')} from what was expected of its fields`,
      advice: `market-mirror query "SELECT * FROM drift WHERE job = '${job}'" shows them`,
      exitCode,
    });
  return found;
}
