/** What is wrong, the gravest first, each with what to do about it. */

import { lossOf } from '../../api/response.ts';
import { aheadWords, CLOCK_ADVICE, isoTime } from '../../clock.ts';
import { exitCodes, waitReasons } from '../../errors.ts';
import { type Cause, type Phrase, phrase, textOf } from '../../folded-problems.ts';
import { bytes, clockTime, duration, number, plural, relative } from '../../output/numbers.ts';
import type { Limits } from '../../plan.ts';
import type { Outage } from '../../queue.ts';
import { type SinkName, sinkNames, sinks } from '../../sinks.ts';
import { LONG_LOG_BYTES } from '../../store/read.ts';
import type { SinkNotes, SinkStatus, SinkStatuses } from './lag.ts';
import type { DatasetStatus, Doing, LastCall, Silence, Trouble } from './read.ts';

export { phrase, textOf } from '../../folded-problems.ts';

export type Problem = {
  /** An error makes the mirror unfit for reports; a warning is worth a look. */
  level: 'error' | 'warning';
  code:
    | 'queue-stuck'
    | 'limits-differ'
    | 'key-refused'
    | 'scope-missing'
    | 'unreachable'
    | 'never-complete'
    | 'clock-ahead'
    | 'stale'
    | 'failed'
    | 'unproven'
    | 'removal-held'
    | 'quarantine'
    | 'drift'
    | 'long-log'
    | 'serve-down'
    | `${SinkName}-behind`;
  /** Null where the problem is not of one dataset. */
  job: string | null;
  /** One line each, for a person. */
  message: string;
  advice: string;
  /** What lies behind it and behind others, too; null where it stands for itself. */
  cause: Cause | null;
  /** The same with their times apart. */
  messageParts: Phrase;
  adviceParts: Phrase;
  /** What it alone makes of the exit code: 0 for a warning. */
  exitCode: number;
};

export type Findings = {
  datasets: readonly DatasetStatus[];
  /** What the governor makes wait, or null where it has not begun to. */
  waits: Limits['waits'];
  /** What contradicts the limits that are set. */
  notes: Limits['notes'];
  /** Called only where the answers of the API are needed. */
  lastCalls(): ReadonlyMap<string, LastCall>;
  daemon: ({ queue: Outage | null; serve: Trouble | null } & Partial<SinkNotes>) | null;
  /** Of the write-ahead log. */
  logBytes: number;
  lags: SinkStatuses;
  /** Of the API, where its latest call got no answer. */
  silence: Silence | null;
  /** Epoch milliseconds. */
  now: number;
};

export function findProblems({
  datasets,
  waits,
  notes,
  lastCalls,
  daemon,
  logBytes,
  lags,
  silence,
  now,
}: Findings): Problem[] {
  const { queue, serve } = daemon ?? {};
  const keyRefused = waits?.find(({ reason }) => reason === 'key_refused');
  const found: Problem[] = [];
  if (keyRefused)
    found.push(
      problem(
        'key-refused',
        null,
        exitCodes.key,
        phrase`the API refuses the key (401)`,
        phrase`set a valid MARKET_API_KEY, or put it into the file of MARKET_API_KEY_FILE; ${keyRefused.until > now ? phrase`next try ${{ at: isoTime(keyRefused.until) }}` : 'the next run tries it'}`,
        'key-refused',
      ),
    );
  if (queue) found.push(queueStuck(queue));
  if (silence) found.push(unreachable(null, silence.code, silence.since));
  for (const dataset of datasets) {
    const { job } = dataset;
    const isForbidden = waits?.some((wait) => wait.job === job && wait.reason === 'forbidden') ?? false;
    const lastCall = () => lastCalls().get(job);
    const around = {
      daemonLives: daemon !== null,
      isStuck: Boolean(queue),
      isKeyRefused: keyRefused !== undefined,
      isForbidden,
      silence,
      lastCall,
    };
    if (isForbidden) found.push(scopeMissing(job, lastCall()));
    found.push(...notFresh(dataset, around), ...ofLastWalk(dataset, around));
    if (!silence) found.push(...endpointSilent(dataset, lastCall));
    found.push(...ofRows(dataset));
  }
  for (const text of notes)
    found.push(
      warning(
        'limits-differ',
        null,
        phrase`${text}`,
        phrase`compare MARKET_API_QUOTA, MARKET_API_RATE and MARKET_API_CONCURRENCY with the account; market-mirror doctor compares the header`,
      ),
    );
  if (logBytes > LONG_LOG_BYTES) found.push(longLog(logBytes));
  if (serve)
    found.push(
      warning(
        'serve-down',
        null,
        phrase`the service does not run since ${{ at: serve.since }}: ${serve.message}`,
        phrase`next try ${{ at: serve.nextTry }}; mirroring goes on meanwhile`,
      ),
    );
  for (const sink of sinkNames) found.push(...behind(sink, lags[sink], daemon?.[sink]?.everySeconds));
  const ofLevel = (level: Problem['level']) => found.filter((problem) => problem.level === level);
  return [...ofLevel('error'), ...ofLevel('warning')];
}

function problem(
  code: Problem['code'],
  job: string | null,
  exitCode: number,
  messageParts: Phrase,
  adviceParts: Phrase,
  cause: Cause | null = null,
): Problem {
  const level = exitCode === exitCodes.done ? 'warning' : 'error';
  const [message, advice] = [textOf(messageParts), textOf(adviceParts)];
  return { level, code, job, message, advice, cause, messageParts, adviceParts, exitCode };
}

const warning = (code: Problem['code'], job: string | null, message: Phrase, advice: Phrase) =>
  problem(code, job, exitCodes.done, message, advice);

function queueStuck({ message, advice, since, errors }: Outage): Problem {
  return problem(
    'queue-stuck',
    null,
    exitCodes.incomplete,
    phrase`no run of the daemon begins since ${{ at: since }}: ${message} (${errors} ${plural(errors, 'error')})`,
    phrase`${advice}; runs go on by themselves, and market-mirror sync needs no Redis`,
    'queue-stuck',
  );
}

/** @param job null where the whole API is silent. */
function unreachable(job: string | null, recorded: string, since?: string): Problem {
  const from = since === undefined ? phrase`at its last call` : phrase`since ${{ at: since }}`;
  const { what, code, advice } = lossOf(recorded);
  return problem(
    'unreachable',
    job,
    exitCodes.unreachable,
    phrase`${what} ${from} (${code})`,
    phrase`${advice}; the next run tries again`,
    job === null ? 'unreachable' : null,
  );
}

function scopeMissing(job: string, call: LastCall | undefined): Problem {
  const refusal = call?.status === 403 ? call : undefined;
  const named = refusal?.requestId ? `; ask the provider about X-Request-ID ${refusal.requestId}` : '';
  return problem(
    'scope-missing',
    job,
    exitCodes.key,
    phrase`the API refuses this dataset to the key (${refusal?.errorCode || '403'})`,
    phrase`give the key the scope it lacks, allow this address, or switch the dataset off${named}`,
  );
}

function notFresh(dataset: DatasetStatus, around: Around): Problem[] {
  const { job, fresh, completeAsOf, ageSeconds, seenAsOf, staleAfterSeconds, doing } = dataset;
  if (fresh) return [];
  const { why, advice, cause } = whyNotFresh(dataset, around);
  const exitCode = doing.exitCode ?? exitCodes.incomplete;
  if (completeAsOf === null) {
    const reason = doing.state === 'never' ? '' : phrase`: ${why}`;
    const message = phrase`has never been complete${reason}`;
    return [problem('never-complete', job, exitCode, message, advice, cause)];
  }
  const asOf = { at: completeAsOf };
  if (ageSeconds === null) {
    const message = phrase`${aheadWords.before}${asOf}${aheadWords.after}`;
    return [problem('clock-ahead', job, exitCodes.incomplete, message, phrase`${CLOCK_ADVICE}; ${advice}`)];
  }
  const seen = seenAsOf !== null && seenAsOf > completeAsOf ? phrase`, last checked ${{ at: seenAsOf }}` : '';
  const limit = duration((staleAfterSeconds ?? 0) * 1_000);
  const message = phrase`last complete ${asOf} (limit ${limit})${seen}: ${why}`;
  return [problem('stale', job, exitCode, message, advice, cause)];
}

/** How the last run failed. A dataset that is not fresh says it there, and a silent API or a refused key once for all. */
function ofLastWalk(dataset: DatasetStatus, { silence, isKeyRefused }: Around): Problem[] {
  const { job, doing, fresh } = dataset;
  const { exitCode, message, state, kind } = doing;
  const isSaid =
    (silence !== null && exitCode === exitCodes.unreachable) || (isKeyRefused && exitCode === exitCodes.key);
  if (fresh && exitCode !== null && !isSaid) {
    const isGlance = kind === 'glance';
    return [
      problem(
        'failed',
        job,
        // No proof rests on a glance.
        isGlance ? exitCodes.done : exitCode,
        phrase`its last ${isGlance ? 'glance' : 'run'} failed: ${messageOf(dataset)}`,
        phrase`the next run resumes at its checkpoint; market-mirror doctor finds out what is wrong`,
      ),
    ];
  }
  if (state !== 'idle' || message === null) return [];
  return [
    warning(
      'unproven',
      job,
      phrase`its last walk proved nothing: ${message}`,
      phrase`everything received is kept; the next walk tries again`,
    ),
  ];
}

/** The endpoint of a dataset, while that of another answers. A walk that failed says so itself. */
function endpointSilent(
  { job, doing: { state } }: DatasetStatus,
  lastCall: () => LastCall | undefined,
): Problem[] {
  if (state !== 'waiting' && state !== 'stopped') return [];
  const call = lastCall();
  return call?.isUnanswered ? [unreachable(job, call.errorCode ?? 'no code')] : [];
}

/** Rows that are held or were refused, and fields that differ. */
function ofRows({ job, heldBack, quarantined, drifts }: DatasetStatus): Problem[] {
  const held = () =>
    warning(
      'removal-held',
      job,
      phrase`the last proof did not show ${heldBack} ${plural(heldBack, 'row')}, too many or too doubtful to remove at once`,
      phrase`they leave the table when the next proof agrees; until then _held_reason says why they stay`,
    );
  const refused = () =>
    warning(
      'quarantine',
      job,
      phrase`${quarantined} ${plural(quarantined, 'row')} broke the contract and went into quarantine`,
      phrase`market-mirror quarantine lists them with the reason`,
    );
  const drifted = () =>
    warning(
      'drift',
      job,
      phrase`${drifts} ${plural(drifts, 'difference')} from the expected fields`,
      phrase`market-mirror query "SELECT * FROM drift WHERE job = '${job}'" lists them`,
    );
  return [
    ...(heldBack > 0 ? [held()] : []),
    ...(quarantined > 0 ? [refused()] : []),
    ...(drifts > 0 ? [drifted()] : []),
  ];
}

function longLog(length: number): Problem {
  return warning(
    'long-log',
    null,
    phrase`the write-ahead log is ${bytes(length)} long: a reader at work for long keeps it from being emptied`,
    phrase`end its query or transaction (fuser -v mirror.db names who has it open); the next walk empties the log`,
  );
}

/** A first load takes longer, but something arrives every few minutes. */
const LONG_BEHIND_SECONDS = 600;

function behind(sink: SinkName, lag: SinkStatus | null, everySeconds = 0): Problem[] {
  if (!lag) return [];
  const { changes, seconds, trouble } = lag;
  const { name, docs } = sinks[sink];
  const lacking = `${changes} ${plural(changes, 'change')} behind`;
  if (trouble)
    return [
      warning(
        `${sink}-behind`,
        null,
        phrase`nothing has arrived in ${name} since ${{ at: trouble.since }}, ${lacking}: ${trouble.message}`,
        phrase`next try ${{ at: trouble.nextTry }}; mirroring goes on meanwhile; see ${docs}`,
      ),
    ];
  if (seconds < LONG_BEHIND_SECONDS + 2 * everySeconds) return [];
  return [
    warning(
      `${sink}-behind`,
      null,
      phrase`${name} is ${lacking}, the oldest by ${Math.round(seconds / 60)} minutes`,
      phrase`the daemon is at work on it; if that stays so, run market-mirror ${sink} by hand and see ${docs}`,
    ),
  ];
}

export type Around = {
  daemonLives: boolean;
  /** No run of the daemon begins. */
  isStuck: boolean;
  isKeyRefused: boolean;
  isForbidden: boolean;
  /** Of the whole API. */
  silence: Silence | null;
  /** Of this dataset. */
  lastCall: () => LastCall | undefined;
};

type Reason = { why: Phrase; advice: Phrase; cause?: Cause | null };

/** Why it is not fresh, and what to do. */
export function whyNotFresh(dataset: DatasetStatus, around: Around): Reason {
  const { doing, nextRun, job } = dataset;
  const sync = doing.sync ? `sync (process ${doing.sync})` : null;
  const { daemonLives, isStuck, isKeyRefused, isForbidden, silence } = around;
  if (isKeyRefused)
    return {
      why: phrase`the API refuses the key`,
      advice: phrase`set a valid key`,
      cause: 'key-refused',
    };
  if (isForbidden)
    return {
      why: phrase`the API refuses this dataset to the key`,
      advice: phrase`give the key the scope, or ask the provider`,
    };
  // Said once, for all datasets alike.
  if (silence && isOfSilence(doing))
    return {
      why: phrase`${lossOf(silence.code).what}`,
      advice: daemonLives
        ? phrase`the daemon goes on by itself`
        : phrase`when it answers again, run market-mirror start, or market-mirror sync`,
      cause: 'unreachable',
    };
  const goesOn = nextStep(job, nextRun, sync, around);
  const cause = daemonLives || sync !== null ? null : 'no-daemon';
  switch (doing.state) {
    case 'running':
      return {
        why: phrase`a ${doing.kind ?? 'walk'} is running, ${placeOf(doing)}`,
        // The end of a glance proves nothing.
        advice: doing.kind === 'walk' ? phrase`wait for it to end` : goesOn,
      };
    case 'waiting':
      return {
        why: phrase`${whyWaiting(doing, around)}${doing.pages === 0 ? '' : `, ${placeOf(doing)}`}`,
        advice:
          daemonLives || sync !== null
            ? phrase`${sync === null ? '' : `${sync} is waiting; `}next try ${timeOf(doing.until)}; ${isOfQuota(doing.reason) ? 'wait, or raise the quota' : 'nothing to do'}`
            : phrase`run market-mirror start, or market-mirror sync ${job}; next try ${timeOf(doing.until)}`,
      };
    case 'failed':
      return {
        why: phrase`its last ${runOf(doing)} failed ${placeOf(doing)}: ${messageOf(dataset)}`,
        advice: phrase`${goesOn}; market-mirror doctor finds out what is wrong`,
      };
    case 'stopped':
      return {
        why: phrase`its last ${runOf(doing)} stopped ${placeOf(doing)}${stoppedBy(doing, daemonLives)}`,
        advice: goesOn,
        cause: doing.message === null || doing.waited !== null ? cause : null,
      };
    case 'never':
      return {
        why: cause === null ? phrase`it was not read yet` : phrase`no daemon is running`,
        advice: goesOn,
        cause,
      };
    case 'idle':
      if (isStuck) return { why: phrase`no run of the daemon begins`, advice: goesOn, cause: 'queue-stuck' };
      if (cause !== null) return { why: phrase`no daemon is running`, advice: goesOn, cause };
      return {
        why:
          doing.message === null
            ? phrase`its next run has not come yet`
            : phrase`its last walk proved nothing: ${doing.message}`,
        advice: goesOn,
      };
  }
}

/** What its last run noted, without its own name. */
const messageOf = ({ job, doing: { message } }: DatasetStatus): string =>
  (message ?? 'no reason was noted').replace(`${job}: `, '');

const isOfSilence = ({ state, exitCode }: Doing) =>
  state === 'waiting' || state === 'stopped' || (state === 'failed' && exitCode === exitCodes.unreachable);

const isOfQuota = (reason: string | null) => reason === 'quota' || reason === 'reserve';

const timeOf = (at: string | null) => (at === null ? 'at a time that is not known' : { at });

const runOf = ({ kind }: Doing) => (kind === 'glance' ? 'glance' : 'run');

/** Where a walk is: `before its first page`, `after page 3 and 300 of 430 rows`. */
function placeOf({ kind, pages, rows, total }: Doing): string {
  if (pages === 0) return 'before its first page';
  if (kind === 'glance') return `after page ${number(pages)}`;
  const of = total === null ? '' : ` of ${number(total)}`;
  return `after page ${number(pages)} and ${number(rows)}${of} ${plural(rows, 'row')}`;
}

const reasonOf = (reason: string | null): string =>
  (waitReasons as Record<string, string>)[reason ?? ''] ?? reason ?? 'no reason was noted';

/** The reason, with the last response of the API where that was a refusal. */
function whyWaiting({ reason }: Doing, { lastCall }: Around): string {
  const { status = 200 } = lastCall() ?? {};
  if (reason === 'blocked') return reasonOf(reason);
  if (status === null) return `${reasonOf(reason)} (its last call got no response)`;
  if (status < 400) return reasonOf(reason);
  return reason === 'unavailable' ? `the API answers ${status}` : `${reasonOf(reason)} (${status})`;
}

function stoppedBy({ waited, message }: Doing, daemonLives: boolean): Phrase {
  if (waited !== null)
    return phrase`: it waited until ${waited} (${reasonOf(waited.reason)}), and nothing has resumed it since`;
  if (message !== null) return phrase`: ${message}`;
  return daemonLives ? phrase`: its process ended` : phrase`: its process ended, and no daemon is running`;
}

/** What brings the next run. */
function nextStep(
  job: string,
  nextRun: string | null,
  sync: string | null,
  { daemonLives, isStuck }: Around,
): Phrase {
  if (sync !== null) return phrase`${sync} is running; nothing to do`;
  if (!daemonLives) return phrase`run market-mirror start, or market-mirror sync ${job}`;
  if (isStuck) return phrase`mend what keeps the runs waiting, or market-mirror sync ${job}`;
  const next =
    nextRun === null
      ? phrase`the daemon reads it when it is due`
      : phrase`the daemon reads it ${{ at: nextRun }}`;
  return phrase`${next}; market-mirror plan shows whether the quota is enough`;
}

/** A phrase with times as a person at a terminal reads them: how long until then, or since. */
export const relativeTextOf = (said: Phrase, now: number): string =>
  said
    .map((piece, at) => {
      if (typeof piece === 'string') return piece;
      const isPoint = /(since|until|as of|at) $/.test(textOf(said.slice(0, at)));
      return isPoint ? clockTime(Date.parse(piece.at), now) : relative(piece.at, now);
    })
    .join('');
