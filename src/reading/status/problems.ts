/** What is wrong, the gravest first, each with what to do about it. */

import { aheadWords, CLOCK_ADVICE } from '../../clock.ts';
import { exitCodes } from '../../errors.ts';
import { duration, number, plural, relative } from '../../output/numbers.ts';
import type { Limits } from '../../plan/limits.ts';
import type { Outage } from '../../queue.ts';
import { type SinkName, sinkNames, sinks } from '../../sinks.ts';
import { LONG_LOG_BYTES } from '../../store/read.ts';
import type { SinkNotes, SinkStatus, SinkStatuses } from './lag.ts';
import type { DatasetStatus, Doing, LastCall, Silence, Trouble } from './read.ts';

/** Why nobody knows what the account shared with others allows, and since when, ISO 8601 UTC. */
export type OutOfReach = { message: string; advice: string; since: string };

export type Problem = {
  /** An error makes the mirror unfit for reports; a warning is worth a look. */
  level: 'error' | 'warning';
  code:
    | 'queue-stuck'
    | 'account-out-of-reach'
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
  /** The same with their times apart. */
  messageParts: Phrase;
  adviceParts: Phrase;
  /** What it alone makes of the exit code: 0 for a warning. */
  exitCode: number;
};

/**
 * @param waits what the governor makes wait, or null where it has not begun to.
 * @param lastCalls asked for only where the answers of the API are needed.
 * @param logBytes of the write-ahead log.
 * @param silence of the API, where its latest call got no answer.
 */
export function findProblems(
  datasets: readonly DatasetStatus[],
  waits: Limits['waits'],
  lastCalls: () => ReadonlyMap<string, LastCall>,
  daemon:
    | ({ queue: Outage | null; account?: OutOfReach | null; serve: Trouble | null } & Partial<SinkNotes>)
    | null,
  logBytes: number,
  lags: Partial<SinkStatuses> = {},
  silence: Silence | null = null,
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
    ...(daemon?.account ? [outOfReach(daemon.account)] : []),
    ...(daemon?.queue ? [queueStuck(daemon.queue, Boolean(daemon.account))] : []),
    ...(silence ? [unreachable(null, silence.code, silence.since)] : []),
    ...datasets.flatMap((dataset) => [
      ...(isForbidden(dataset.job) ? [scopeMissing(dataset.job, lastCalls().get(dataset.job))] : []),
      ...notFresh(dataset, {
        daemonLives: daemon !== null,
        isStuck: Boolean(daemon?.queue),
        isKeyRefused: refused,
        isForbidden: isForbidden(dataset.job),
        lastCall: () => lastCalls().get(dataset.job),
      }),
      ...lastWalk(dataset, silence !== null),
      ...(silence ? [] : endpointSilent(dataset, lastCalls)),
      ...refusedRows(dataset),
    ]),
    ...(logBytes > LONG_LOG_BYTES ? [longLog(logBytes)] : []),
    ...(daemon?.serve ? [serveDown(daemon.serve)] : []),
    ...sinkNames.flatMap((target) => behind(target, lags[target], daemon?.[target]?.everySeconds)),
  ];
  const ofLevel = (level: Problem['level']) => found.filter((problem) => problem.level === level);
  return [...ofLevel('error'), ...ofLevel('warning')];
}

type About = Pick<Problem, 'code' | 'job'>;

function error(
  kind: 'key' | 'incomplete' | 'unreachable' | { exitCode: number },
  about: About,
  message: Phrase,
  advice: Phrase,
): Problem {
  const exitCode = typeof kind === 'string' ? exitCodes[kind] : kind.exitCode;
  return { level: 'error', ...about, ...told(message, advice), exitCode };
}

function warning(about: About, message: Phrase, advice: Phrase): Problem {
  return { level: 'warning', ...about, ...told(message, advice), exitCode: exitCodes.done };
}

const told = (messageParts: Phrase, adviceParts: Phrase) => ({
  message: textOf(messageParts),
  advice: textOf(adviceParts),
  messageParts,
  adviceParts,
});

function keyRefused(): Problem {
  return error(
    'key',
    { code: 'key-refused', job: null },
    phrase`the API refuses the key (401)`,
    phrase`set a valid MARKET_API_KEY, or put it into the file of MARKET_API_KEY_FILE`,
  );
}

/** @param job null where the whole API is silent. */
function unreachable(job: string | null, code: string, since?: string): Problem {
  const from = since === undefined ? phrase`at its last call` : phrase`since ${{ at: since }}`;
  return error(
    'unreachable',
    { code: 'unreachable', job },
    phrase`the API cannot be reached or does not answer ${from} (${code})`,
    phrase`check the network and MARKET_API_URL; the next run tries again`,
  );
}

/** The endpoint of a dataset, while that of another answers. A walk that failed says so itself. */
function endpointSilent(
  { job, doing: { state } }: DatasetStatus,
  lastCalls: () => ReadonlyMap<string, LastCall>,
): Problem[] {
  if (state !== 'waiting' && state !== 'stopped') return [];
  const call = lastCalls().get(job);
  return call?.isUnanswered ? [unreachable(job, call.errorCode ?? 'no code')] : [];
}

function outOfReach({ message, advice, since }: OutOfReach): Problem {
  return error(
    'incomplete',
    { code: 'account-out-of-reach', job: null },
    phrase`no call is made since ${{ at: since }}, since the account's limits are out of reach: ${message}`,
    phrase`${advice}; calls go on by themselves`,
  );
}

function queueStuck({ message, advice, since, errors }: Outage, syncsWait: boolean): Problem {
  return error(
    'incomplete',
    { code: 'queue-stuck', job: null },
    phrase`no run of the daemon begins since ${{ at: since }}: ${message} (${errors} ${plural(errors, 'error')})`,
    phrase`${advice}; runs go on by themselves${syncsWait ? '' : ', and market-mirror sync needs no Redis'}`,
  );
}

function serveDown({ message, since, nextTry }: Trouble): Problem {
  return warning(
    { code: 'serve-down', job: null },
    phrase`the service does not run since ${{ at: since }}: ${message}`,
    phrase`next try ${{ at: nextTry }}; mirroring goes on meanwhile`,
  );
}

/** A target that is filled for the first time takes long, too, but not many minutes without a word. */
const LONG_BEHIND_SECONDS = 600;

function behind(target: SinkName, lag: SinkStatus | null | undefined, everySeconds = 0): Problem[] {
  if (!lag) return [];
  const { changes, seconds, trouble } = lag;
  const { name, docs } = sinks[target];
  const about = { code: `${target}-behind`, job: null } as const;
  const lacking = `${changes} ${plural(changes, 'change')} behind`;
  if (trouble)
    return [
      warning(
        about,
        phrase`nothing has arrived in ${name} since ${{ at: trouble.since }}, ${lacking}: ${trouble.message}`,
        phrase`next try ${{ at: trouble.nextTry }}; mirroring goes on meanwhile; see ${docs}`,
      ),
    ];
  if (seconds < LONG_BEHIND_SECONDS + 2 * everySeconds) return [];
  return [
    warning(
      about,
      phrase`${name} is ${lacking}, the oldest by ${Math.round(seconds / 60)} minutes`,
      phrase`the daemon is at work on it; if that stays so, run market-mirror ${target} by hand and see ${docs}`,
    ),
  ];
}

function longLog(bytes: number): Problem {
  return warning(
    { code: 'long-log', job: null },
    phrase`the write-ahead log is ${Math.round(bytes / 1e6)} MB long: a reader at work for long keeps it from being emptied`,
    phrase`end its query or transaction (fuser -v mirror.db names who has it open); the next walk empties the log`,
  );
}

function scopeMissing(job: string, call: LastCall | undefined): Problem {
  const refusal = call?.status === 403 ? call : undefined;
  const named = refusal?.requestId ? `; ask the provider about X-Request-ID ${refusal.requestId}` : '';
  return error(
    'key',
    { code: 'scope-missing', job },
    phrase`the API refuses this dataset to the key (${refusal?.errorCode || '403'})`,
    phrase`give the key the scope it lacks, allow this address, or switch the dataset off${named}`,
  );
}

function notFresh(dataset: DatasetStatus, around: Around): Problem[] {
  const { job, fresh, completeAsOf, ageSeconds, seenAsOf, staleAfterSeconds } = dataset;
  if (fresh) return [];
  const { why, advice } = whyNotFresh(dataset, around);
  const { exitCode } = dataset.doing;
  const kind = exitCode === null ? 'incomplete' : { exitCode };
  if (completeAsOf === null) {
    // Of what was never begun there is nothing more to say.
    const message =
      dataset.doing.state === 'never'
        ? phrase`has never been complete`
        : phrase`has never been complete: ${why}`;
    return [error(kind, { code: 'never-complete', job }, message, advice)];
  }
  const asOf = { at: completeAsOf };
  if (ageSeconds === null) {
    const message = phrase`${aheadWords.before}${asOf}${aheadWords.after}`;
    return [error('incomplete', { code: 'clock-ahead', job }, message, phrase`${CLOCK_ADVICE}; ${advice}`)];
  }
  const seen = seenAsOf !== null && seenAsOf > completeAsOf ? phrase`, last checked ${{ at: seenAsOf }}` : '';
  const limit = duration((staleAfterSeconds ?? 0) * 1_000);
  const message = phrase`last complete ${asOf} (limit ${limit})${seen}: ${why}`;
  return [error(kind, { code: 'stale', job }, message, advice)];
}

/** Of a dataset that is not fresh, how its last run failed is said with that; of a silent API, once for all. */
function lastWalk({ job, doing, heldBack, fresh }: DatasetStatus, isSilent: boolean): Problem[] {
  const found: Problem[] = [];
  const isSaid = isSilent && doing.exitCode === exitCodes.unreachable;
  if (fresh && doing.exitCode !== null && !isSaid) {
    const isGlance = doing.kind === 'glance';
    const about = { code: 'failed', job } as const;
    const message = phrase`its last ${isGlance ? 'glance' : 'run'} failed: ${doing.message ?? 'no reason was noted'}`;
    const advice = phrase`the next run resumes at its checkpoint; market-mirror doctor finds out what is wrong`;
    // No proof rests on a glance.
    found.push(
      isGlance
        ? warning(about, message, advice)
        : error({ exitCode: doing.exitCode }, about, message, advice),
    );
  }
  if (doing.state === 'idle' && doing.message !== null)
    found.push(
      warning(
        { code: 'unproven', job },
        phrase`its last walk proved nothing: ${doing.message}`,
        phrase`everything received is kept; the next walk tries again`,
      ),
    );
  if (heldBack > 0)
    found.push(
      warning(
        { code: 'removal-held', job },
        phrase`the last proof did not show ${heldBack} ${plural(heldBack, 'row')}, too many or too doubtful to remove at once`,
        phrase`they leave the table when the next proof agrees; until then _held_reason says why they stay`,
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
        phrase`${quarantined} ${plural(quarantined, 'row')} broke the contract and went into quarantine`,
        phrase`market-mirror quarantine lists them with the reason`,
      ),
    );
  if (drifts > 0)
    found.push(
      warning(
        { code: 'drift', job },
        phrase`${drifts} ${plural(drifts, 'difference')} from the expected fields`,
        phrase`market-mirror query "SELECT * FROM drift WHERE job = '${job}'" lists them`,
      ),
    );
  return found;
}

export type Around = {
  daemonLives: boolean;
  /** No run of the daemon begins. */
  isStuck: boolean;
  isKeyRefused: boolean;
  isForbidden: boolean;
  /** Of this dataset. */
  lastCall: () => LastCall | undefined;
};

/** Why, and what to do: nothing of what is said elsewhere as a problem of its own. */
export function whyNotFresh(dataset: DatasetStatus, around: Around): { why: Phrase; advice: Phrase } {
  const { doing, nextRun, job } = dataset;
  const { daemonLives, isStuck, isKeyRefused, isForbidden } = around;
  if (isKeyRefused) return { why: phrase`the API refuses the key`, advice: phrase`set a valid key` };
  if (isForbidden)
    return {
      why: phrase`the API refuses this dataset to the key`,
      advice: phrase`give the key the scope, or ask the provider`,
    };
  const goesOn = nextStep(job, nextRun, around);
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
        advice: daemonLives
          ? phrase`next try ${timeOf(doing.until)}; ${isOfQuota(doing.reason) ? 'wait, or raise the quota' : 'nothing to do'}`
          : phrase`run market-mirror start, or market-mirror sync ${job}; next try ${timeOf(doing.until)}`,
      };
    case 'failed':
      return {
        why: phrase`its last ${runOf(doing)} failed ${placeOf(doing)}: ${doing.message ?? 'no reason was noted'}`,
        advice: phrase`${goesOn}; market-mirror doctor finds out what is wrong`,
      };
    case 'stopped':
      return {
        why: phrase`its last ${runOf(doing)} stopped ${placeOf(doing)}${stoppedBy(doing, daemonLives)}`,
        advice: goesOn,
      };
    case 'never':
      return {
        why: daemonLives ? phrase`it was not read yet` : phrase`no daemon is running`,
        advice: goesOn,
      };
    case 'idle':
      return { why: whyIdle(doing, daemonLives, isStuck), advice: goesOn };
  }
}

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

const reasons: Readonly<Record<string, string>> = {
  rate: 'the API asks for a lower rate',
  quota: 'the quota is used up',
  reserve: 'only reserved calls are left of the quota',
  retry_after: 'the API asks to wait',
  concurrency: 'the API allows no more calls at the same time',
  key_refused: 'the API refuses the key',
  unavailable: 'the API does not serve it at present',
  unreachable: 'the API cannot be reached',
};

const reasonOf = (reason: string | null) => reasons[reason ?? ''] ?? reason ?? 'no reason was noted';

/** The reason, with the last response of the API where that was a refusal. */
function whyWaiting({ reason }: Doing, { lastCall }: Around): string {
  const { status = 200 } = lastCall() ?? {};
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

function whyIdle({ message }: Doing, daemonLives: boolean, isStuck: boolean): Phrase {
  if (isStuck) return phrase`no run of the daemon begins`;
  if (!daemonLives) return phrase`no daemon is running`;
  return message === null
    ? phrase`its next run has not come yet`
    : phrase`its last walk proved nothing: ${message}`;
}

/** What brings the next run. */
function nextStep(job: string, nextRun: string | null, { daemonLives, isStuck }: Around): Phrase {
  if (!daemonLives) return phrase`run market-mirror start, or market-mirror sync ${job}`;
  if (isStuck) return phrase`mend what keeps the runs waiting, or market-mirror sync ${job}`;
  const next =
    nextRun === null
      ? phrase`the daemon reads it when it is due`
      : phrase`the daemon reads it ${{ at: nextRun }}`;
  return phrase`${next}; market-mirror plan shows whether the quota is enough`;
}

/** Words for people, with times kept apart, so that the page can show them as times. `at`: ISO 8601 UTC. */
export type Phrase = readonly (string | { readonly at: string })[];

type Part = string | number | { readonly at: string } | Phrase;

const isPhrase = (part: Part): part is Phrase => Array.isArray(part);

/** A template whose parts are texts, times and other phrases. */
export function phrase(texts: readonly string[], ...parts: readonly Part[]): Phrase {
  const joined: (string | { readonly at: string })[] = [];
  const add = (piece: string | { readonly at: string }) => {
    const last = joined.at(-1);
    if (typeof piece === 'string' && typeof last === 'string') joined[joined.length - 1] = last + piece;
    else if (piece !== '') joined.push(piece);
  };
  texts.forEach((text, at) => {
    add(text);
    const part = parts[at] ?? '';
    if (isPhrase(part)) part.forEach(add);
    else add(typeof part === 'number' ? String(part) : part);
  });
  return joined;
}

export const textOf = (said: Phrase): string =>
  said.map((piece) => (typeof piece === 'string' ? piece : piece.at)).join('');

/** The same with times as a person at a terminal reads them: how long until then, or since. */
export const relativeTextOf = (said: Phrase, now: number): string =>
  said
    .map((piece, at) => {
      if (typeof piece === 'string') return piece;
      const isPoint = /(since|until|as of|at) $/.test(textOf(said.slice(0, at)));
      return isPoint ? piece.at : relative(piece.at, now);
    })
    .join('');
