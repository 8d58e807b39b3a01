/** What is wrong, the gravest first, each with what to do about it. */

import { CLOCK_ADVICE, describeAhead } from '../../clock.ts';
import { exitCodes } from '../../errors.ts';
import { plural } from '../../output/text.ts';
import type { Limits } from '../../plan/limits.ts';
import type { Outage } from '../../queue/index.ts';
import { LONG_LOG_BYTES } from '../../store/read.ts';
import type { LastCall } from './calls.ts';
import type { DatasetStatus } from './datasets.ts';
import type { ServeTrouble } from './service.ts';

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
    | 'long-log'
    | 'serve-down';
  /** Null where the problem is not of one dataset. */
  job: string | null;
  message: string;
  advice: string;
  /** What it alone makes of the exit code: 0 for a warning. */
  exitCode: number;
};

/**
 * @param waits what the governor makes wait, or null where it has not begun to.
 * @param lastCalls asked for only where the answers of the API are needed.
 * @param logBytes of the write-ahead log.
 */
export function findProblems(
  datasets: readonly DatasetStatus[],
  waits: Limits['waits'],
  lastCalls: () => ReadonlyMap<string, LastCall>,
  daemon: { queue: Outage | null; serve: ServeTrouble | null } | null,
  logBytes: number,
): Problem[] {
  const refused = waits
    ? waits.some(({ reason }) => reason === 'key_refused')
    : [...lastCalls().values()].some(({ status }) => status === 401);
  const isForbidden = (job: string) =>
    waits
      ? waits.some((wait) => wait.job === job && wait.reason === 'forbidden')
      : lastCalls().get(job)?.status === 403;
  const found = [
    ...(refused ? [keyRefused()] : []),
    ...(daemon?.queue ? [queueStuck(daemon.queue)] : []),
    ...datasets.flatMap((dataset) => [
      ...(isForbidden(dataset.job) ? [scopeMissing(dataset.job, lastCalls().get(dataset.job))] : []),
      ...notFresh(dataset, daemon !== null),
      ...lastWalk(dataset),
      ...refusedRows(dataset),
    ]),
    ...(logBytes > LONG_LOG_BYTES ? [longLog(logBytes)] : []),
    ...(daemon?.serve ? [serveDown(daemon.serve)] : []),
  ];
  const ofLevel = (level: Problem['level']) => found.filter((problem) => problem.level === level);
  return [...ofLevel('error'), ...ofLevel('warning')];
}

type About = Pick<Problem, 'code' | 'job'>;

function error(kind: 'key' | 'incomplete', about: About, message: string, advice: string): Problem {
  return { level: 'error', ...about, message, advice, exitCode: exitCodes[kind] };
}

function warning(about: About, message: string, advice: string): Problem {
  return { level: 'warning', ...about, message, advice, exitCode: exitCodes.done };
}

function keyRefused(): Problem {
  return error(
    'key',
    { code: 'key-refused', job: null },
    'the API refuses the key (401)',
    'set a valid MARKET_API_KEY, or put it into the file of MARKET_API_KEY_FILE',
  );
}

function queueStuck({ message, advice, since, errors }: Outage): Problem {
  return error(
    'incomplete',
    { code: 'queue-stuck', job: null },
    `no run of the daemon begins since ${since}: ${message} (${errors} ${plural(errors, 'error')})`,
    `${advice}; runs go on by themselves, and market-mirror sync needs no Redis`,
  );
}

function serveDown({ message, since, nextTry }: ServeTrouble): Problem {
  return warning(
    { code: 'serve-down', job: null },
    `the service does not run since ${since}: ${message}`,
    `the daemon tries again at ${nextTry}, and mirrors meanwhile`,
  );
}

function longLog(bytes: number): Problem {
  return warning(
    { code: 'long-log', job: null },
    `the write-ahead log is ${Math.round(bytes / 1e6)} MB long: a reader at work for long keeps it from being emptied`,
    'end its query or transaction (fuser -v mirror.db names who has it open); the next walk empties the log',
  );
}

function scopeMissing(job: string, call: LastCall | undefined): Problem {
  const refusal = call?.status === 403 ? call : undefined;
  const named = refusal?.requestId ? `; ask the provider about X-Request-ID ${refusal.requestId}` : '';
  return error(
    'key',
    { code: 'scope-missing', job },
    `the API refuses this dataset to the key (${refusal?.errorCode || '403'})`,
    `give the key the scope it lacks, allow this address, or switch the dataset off${named}`,
  );
}

function notFresh(dataset: DatasetStatus, daemonLives: boolean): Problem[] {
  const { job, fresh, completeAsOf, ageSeconds, seenAsOf, doing } = dataset;
  if (fresh) return [];
  const next = nextStep(doing, daemonLives, job);
  if (completeAsOf === null)
    return [error('incomplete', { code: 'never-complete', job }, 'has never been complete', next)];
  if (ageSeconds === null) {
    const advice = `${CLOCK_ADVICE}; ${next}`;
    return [error('incomplete', { code: 'clock-ahead', job }, describeAhead(completeAsOf), advice)];
  }
  const seen = seenAsOf !== null && seenAsOf > completeAsOf ? `, and looked at as of ${seenAsOf}` : '';
  const message = `is older than it is meant to be: last proven complete as of ${completeAsOf}${seen}`;
  return [error('incomplete', { code: 'stale', job }, message, next)];
}

const isOfQuota = (reason: string | null) => reason === 'quota' || reason === 'reserve';

function nextStep(
  { kind, state, until, reason }: DatasetStatus['doing'],
  daemonLives: boolean,
  job: string,
): string {
  if (state === 'running' && kind === 'walk') return 'a walk is under way: wait for it to end';
  if (state === 'waiting')
    return `its ${kind} goes on at ${until} (${reason}): wait${isOfQuota(reason) ? ', or raise the quota' : ''}`;
  if (state === 'failed') return 'see why its last run failed';
  return daemonLives
    ? 'the daemon runs it when it is due: market-mirror plan says whether the quota will do, its log what went wrong'
    : `no daemon is running: market-mirror start, or market-mirror sync ${job}`;
}

function lastWalk({ job, doing, held }: DatasetStatus): Problem[] {
  const found: Problem[] = [];
  if (doing.state === 'failed')
    found.push(
      warning(
        { code: 'failed', job },
        `its last ${doing.kind === 'glance' ? 'glance' : 'run'} failed: ${doing.message ?? 'no reason was noted'}`,
        'the next run goes on at the committed place; market-mirror doctor says what is wrong here',
      ),
    );
  if (doing.state === 'idle' && doing.message !== null)
    found.push(
      warning(
        { code: 'unproven', job },
        `its last walk proved nothing: ${doing.message}`,
        'everything received is kept; the next walk tries again',
      ),
    );
  if (held > 0)
    found.push(
      warning(
        { code: 'removal-held', job },
        `${held} ${plural(held, 'row')} gone upstream, too many or too doubtful to remove at once`,
        'they leave the table when the next proven walks agree',
      ),
    );
  return found;
}

function refusedRows({ job, quarantined, drifts }: DatasetStatus): Problem[] {
  const found: Problem[] = [];
  if (quarantined > 0)
    found.push(
      warning(
        { code: 'quarantine', job },
        `${quarantined} ${plural(quarantined, 'row')} broke the contract and went into quarantine`,
        'market-mirror quarantine list shows them with the reason',
      ),
    );
  if (drifts > 0)
    found.push(
      warning(
        { code: 'drift', job },
        `${drifts} ${plural(drifts, 'difference')} from what was expected of its fields`,
        `market-mirror query "SELECT * FROM drift WHERE job = '${job}'" shows them`,
      ),
    );
  return found;
}
