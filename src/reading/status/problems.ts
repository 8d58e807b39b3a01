/** What is wrong, the gravest first, each with what to do about it. */

import { lossOf } from '../../api/response.ts';
import { aheadWords, CLOCK_ADVICE, isoTime } from '../../base/clock.ts';
import { exitCodes, waitReasons } from '../../base/errors.ts';
import { type Cause, type Phrase, phrase, textOf } from '../../base/folded-problems.ts';
import { hintSettings, settingOf } from '../../config/settings.ts';
import { bytes, clockTime, duration, number, plural, relative } from '../../output/numbers.ts';
import type { Limits } from '../../plan.ts';
import type { Outage } from '../../queue.ts';
import { type SinkName, sinkNames, sinks } from '../../sinks.ts';
import { LONG_LOG_BYTES } from '../../store/read.ts';
import type { SinkNotes, SinkStatus, SinkStatuses } from './lag.ts';
import type { ListNotes } from './notes.ts';
import type { DatasetStatus, Doing, LastCall, Silence, Trouble } from './read.ts';
import type { ReportStatus } from './reports.ts';

export { phrase, textOf } from '../../base/folded-problems.ts';

export type Problem = {
  /** An error makes the mirror unfit for reports; a warning is worth a look. */
  level: 'error' | 'warning';
  code:
    | 'redis-away'
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
    | 'new-key'
    | 'doubted-key'
    | 'moved-rows'
    | 'moving-field'
    | 'restless-field'
    | 'long-log'
    | 'serve-down'
    | 'report-failed'
    | 'report-unsent'
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
  reports: readonly ReportStatus[];
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
  reports,
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
  if (queue)
    found.push(
      warning(
        'redis-away',
        null,
        phrase`Redis is away since ${{ at: queue.since }}: ${queue.message}`,
        phrase`mirroring goes on without it; market-mirror doctor looks at Redis`,
      ),
    );
  if (silence) found.push(unreachable(null, silence.code, silence.since));
  for (const dataset of datasets) {
    const { job } = dataset;
    const isForbidden = waits?.some((wait) => wait.job === job && wait.reason === 'forbidden') ?? false;
    const lastCall = () => lastCalls().get(job);
    const around = {
      daemonLives: daemon !== null,
      isKeyRefused: keyRefused !== undefined,
      isForbidden,
      silence,
      lastCall,
    };
    if (isForbidden) found.push(scopeMissing(job, lastCall()));
    const stale = notFresh(dataset, around);
    found.push(...stale, ...ofLastWalk(dataset, around, stale));
    if (!silence) found.push(...endpointSilent(dataset, lastCall));
    found.push(...ofRows(dataset), ...ofForm(job, dataset.notes));
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
  for (const report of reports) found.push(...ofReport(report));
  found.push(...ofUnsent(reports));
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

function ofReport({ report, error, exitCode, givenUp }: ReportStatus): Problem[] {
  const isNamed = [`${report}.sql`, `${report}:`].some((name) => error?.startsWith(name));
  return [
    ...(error === null
      ? []
      : [
          problem(
            'report-failed',
            null,
            exitCode,
            phrase`${isNamed ? '' : `the report ${report}: `}${error}`,
            phrase`mend it; market-mirror report --check looks at all reports`,
          ),
        ]),
    ...(givenUp === 0
      ? []
      : [
          problem(
            'report-unsent',
            null,
            exitCodes.incomplete,
            phrase`${number(givenUp)} ${plural(givenUp, 'message')} of the report ${report} given up after three days`,
            phrase`what they said is in the table _report_messages for three more days`,
          ),
        ]),
  ];
}

/** A webhook that is down is one problem, however many reports tell it. */
function ofUnsent(reports: readonly ReportStatus[]): Problem[] {
  const byCause = new Map<string, { names: string[]; messages: number; since: string }>();
  for (const { report, unsent } of reports) {
    if (unsent === null) continue;
    const { error, messages, since } = unsent;
    const known = byCause.get(error) ?? { names: [], messages: 0, since };
    byCause.set(error, {
      names: [...known.names, report],
      messages: known.messages + messages,
      since: known.since < since ? known.since : since,
    });
  }
  return [...byCause].map(([error, { names, messages, since }]) =>
    problem(
      'report-unsent',
      null,
      exitCodes.incomplete,
      phrase`${number(messages)} ${plural(messages, 'message')} of the ${plural(names.length, 'report')} ${names.join(', ')} not told since ${{ at: since }}: ${error}`,
      phrase`${messages === 1 ? 'it is' : 'they are'} tried again for three days; market-mirror report${names.length === 1 ? ` ${names[0]}` : ''} tries at once`,
    ),
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
    const next = around.daemonLives ? 'the next walk proves it anew' : 'then run market-mirror sync';
    return [
      problem('clock-ahead', job, exitCodes.incomplete, message, phrase`${CLOCK_ADVICE}; ${next}`, 'clock'),
    ];
  }
  const seen = seenAsOf !== null && seenAsOf > completeAsOf ? phrase`, last checked ${{ at: seenAsOf }}` : '';
  const limit = duration((staleAfterSeconds ?? 0) * 1_000);
  const message = phrase`last complete ${asOf} (limit ${limit})${seen}: ${why}`;
  return [problem('stale', job, exitCode, message, advice, cause)];
}

/**
 * How the last run failed. A dataset that is not fresh says it there, and a silent API or a refused key once for all.
 * @param stale what was said of it as one that is not fresh.
 */
function ofLastWalk(
  dataset: DatasetStatus,
  { silence, isKeyRefused }: Around,
  stale: readonly Problem[],
): Problem[] {
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
  const unproven = whyUnproven(dataset);
  if (stale.some((said) => said.message.endsWith(unproven))) return [];
  const advice = isGap(dataset)
    ? phrase`the others are mirrored, and none is removed; each walk asks for these again: ask the provider about them`
    : phrase`everything received is kept; the next walk tries again`;
  return [warning('unproven', job, phrase`${unproven}`, advice)];
}

/** Whether the last walk has passed over rows, or ended before them: it names their offset. */
const isGap = ({ doing: { message } }: DatasetStatus) => /\boffset \d/.test(message ?? '');

/** Why a walk that ended is no proof. */
function whyUnproven(dataset: DatasetStatus): string {
  const what = isGap(dataset) ? 'did not read all rows' : 'proved nothing';
  return `its last walk ${what}: ${messageOf(dataset).replace(/; the next run tries again$/, '')}`;
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
function ofRows({
  job,
  heldBack,
  heldUnkeyed,
  quarantined,
  notes: { differences },
}: DatasetStatus): Problem[] {
  const heldAsMany = heldBack - heldUnkeyed;
  const held = () =>
    warning(
      'removal-held',
      job,
      phrase`the last proof did not show ${heldAsMany} ${plural(heldAsMany, 'row')}, too many to remove at once`,
      phrase`they leave the table when the next proof agrees; until then _held_reason says why they stay`,
    );
  const unkeyed = () =>
    warning(
      'removal-held',
      job,
      phrase`the last proof lacks ${heldUnkeyed} ${plural(heldUnkeyed, 'row')}, and shows some without a readable key, which may be these`,
      phrase`they leave the table when three proofs in a row lack them`,
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
      phrase`${differences} ${plural(differences, 'difference')} from the expected fields`,
      phrase`market-mirror query "SELECT * FROM drift WHERE job = '${job}'" lists them`,
    );
  return [
    ...(heldAsMany > 0 ? [held()] : []),
    ...(heldUnkeyed > 0 ? [unkeyed()] : []),
    ...(quarantined > 0 ? [refused()] : []),
    ...(differences > 0 ? [drifted()] : []),
  ];
}

/** What names the rows of a list, where they are, and fields that move. The user confirms it by a setting, or says otherwise. */
function ofForm(job: string, { newKey, doubtedKey, movedRows, ages, restless }: ListNotes): Problem[] {
  const of = (setting: keyof typeof hintSettings) => settingOf(job, hintSettings[setting]);
  const found: Problem[] = [];
  if (newKey) found.push(warning('new-key', job, ...keyGivenUp(newKey, of('key'))));
  if (doubtedKey) found.push(warning('doubted-key', job, ...keyDoubted(doubtedKey, of('key'))));
  if (movedRows)
    found.push(
      warning(
        'moved-rows',
        job,
        phrase`its rows moved in the response, from ${movedRows.before} to ${movedRows.now}, and are read there`,
        movedRows.now === 'the response'
          ? phrase`${of('place')} names another place`
          : phrase`${of('place')}=${movedRows.now} confirms it, or names another place`,
      ),
    );
  const known = ages.join(',');
  if (ages.length > 0)
    found.push(
      warning(
        'moving-field',
        job,
        phrase`${allOf(ages)} ${ages.length === 1 ? 'moves' : 'move'} alike in all rows, as an age does: kept current, without versions`,
        phrase`${of('volatile')}=${known} confirms it, =none keeps every change`,
      ),
    );
  if (restless) {
    const { fields, bytesPerDay } = restless;
    const isOne = fields.length === 1;
    const size =
      bytesPerDay === null
        ? ', and each change is kept'
        : `: ${isOne ? 'its' : 'their'} versions take about ${bytes(bytesPerDay)} a day`;
    found.push(
      warning(
        'restless-field',
        job,
        phrase`${allOf(fields)} ${isOne ? 'changes' : 'change'} most rows at each walk${size}`,
        phrase`${of('volatile')}=${[...ages, ...fields].join(',')} keeps only the last value, =${known || 'none'} confirms that all are wanted`,
      ),
    );
  }
  return found;
}

type Said = [message: Phrase, advice: Phrase];

/** The difference that `drift` notes of a key where rows lack it. */
const WITHOUT_KEY = 'a row without it';

function keyGivenUp({ key, before, why }: NonNullable<ListNotes['newKey']>, setting: string): Said {
  const lost =
    why === null || why === WITHOUT_KEY
      ? `${before}, which identified its rows, was renamed or is gone`
      : `${before} does not identify its rows (${why})`;
  if (key === null)
    return [
      phrase`${lost}: each is known by its whole content now, and counts as a new row once it changes`,
      phrase`if some fields together identify a row, name them: ${setting}=chain,address`,
    ];
  const fields = key.split(',');
  const now = `${allOf(fields)} ${fields.length === 1 ? 'does' : 'do'}`;
  return [phrase`${lost}: ${now} now`, phrase`${setting}=${key} confirms it, or names other fields`];
}

function keyDoubted({ key, isTold, why }: NonNullable<ListNotes['doubtedKey']>, setting: string): Said {
  const fields = allOf(key.split(','));
  const message =
    why === WITHOUT_KEY
      ? phrase`some rows have no ${fields}, which identifies the others: these are known by their whole content`
      : phrase`${fields} does not identify each row (${why}): all are kept`;
  return [
    message,
    phrase`name fields that identify each row${isTold ? ' in' : ':'} ${setting}${isTold ? '' : '=chain,address'}`,
  ];
}

/** `a, b and c`. */
const allOf = (names: readonly string[]) =>
  names.length < 2 ? names.join() : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`;

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
  const { daemonLives, isKeyRefused, isForbidden, silence } = around;
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
      if (cause !== null) return { why: phrase`no daemon is running`, advice: goesOn, cause };
      return {
        why: doing.message === null ? phrase`its next run has not come yet` : phrase`${whyUnproven(dataset)}`,
        advice: isGap(dataset) ? phrase`ask the provider about these rows; ${goesOn}` : goesOn,
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
function nextStep(job: string, nextRun: string | null, sync: string | null, { daemonLives }: Around): Phrase {
  if (sync !== null) return phrase`${sync} is running; nothing to do`;
  if (!daemonLives) return phrase`run market-mirror start, or market-mirror sync ${job}`;
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
