/** Why a dataset is older than it is meant to be, and what to do about it. */

import { number, plural } from '../../output/text.ts';
import type { LastCall } from './calls.ts';
import type { DatasetStatus, Doing } from './datasets.ts';
import { type Phrase, phrase } from './phrase.ts';

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
      why: phrase`the API refuses it to the key`,
      advice: phrase`give the key the scope, or ask the provider`,
    };
  const goesOn = nextStep(job, nextRun, around);
  switch (doing.state) {
    case 'running':
      return {
        why: phrase`a ${doing.kind ?? 'walk'} is under way, ${placeOf(doing)}`,
        // The end of a glance proves nothing.
        advice: doing.kind === 'walk' ? phrase`wait for it to end` : goesOn,
      };
    case 'waiting':
      return {
        why: phrase`its ${doing.kind ?? 'walk'} waits, ${placeOf(doing)}: ${reasonOf(doing.reason)}${answerOf(around)}`,
        advice: phrase`its ${doing.kind ?? 'walk'} goes on at ${timeOf(doing.until)} (${doing.reason ?? 'unknown'}): ${daemonLives ? 'wait' : `run market-mirror start then, or market-mirror sync ${job}`}${isOfQuota(doing.reason) ? ', or raise the quota' : ''}`,
      };
    case 'failed':
      return {
        why: phrase`its last ${runOf(doing)} failed ${placeOf(doing)}: ${doing.message ?? 'no reason was noted'}`,
        advice: phrase`${goesOn}; market-mirror doctor says what is wrong here`,
      };
    case 'stopped':
      return {
        why: phrase`its last ${runOf(doing)} stopped ${placeOf(doing)}${stoppedBy(doing, daemonLives)}`,
        advice: goesOn,
      };
    case 'never':
      return { why: daemonLives ? phrase`it was not walked yet` : phrase`no daemon runs it`, advice: goesOn };
    case 'idle':
      return { why: whyIdle(doing, daemonLives, isStuck), advice: goesOn };
  }
}

const isOfQuota = (reason: string | null) => reason === 'quota' || reason === 'reserve';

const timeOf = (at: string | null) => (at === null ? 'a time that is not known' : { at });

const runOf = ({ kind }: Doing) => (kind === 'glance' ? 'glance' : 'run');

/** Where a walk is: `before its first page`, `after page 3 and 300 of 430 rows`. */
function placeOf({ kind, pages, rows, total }: Doing): string {
  if (pages === 0) return 'before its first page';
  if (kind === 'glance') return `after page ${number(pages)}`;
  const of = total === null ? '' : ` of ${number(total)}`;
  return `after page ${number(pages)} and ${number(rows)}${of} ${plural(rows, 'row')}`;
}

const reasons: Readonly<Record<string, string>> = {
  rate: 'the API asks for a slower pace',
  quota: 'calls are scarce',
  reserve: 'the calls that are left are kept back',
  retry_after: 'the API said for how long',
  concurrency: 'as many calls as the API allows are under way',
  key_refused: 'the API refuses the key',
  unavailable: 'the API does not serve it at present',
  unreachable: 'the API cannot be reached',
};

const reasonOf = (reason: string | null) => reasons[reason ?? ''] ?? reason ?? 'no reason was noted';

/** How the API answered last, where it refused. */
function answerOf({ lastCall }: Around): string {
  const call = lastCall();
  if (!call || (call.status !== null && call.status < 400)) return '';
  return call.status === null ? ' (its last call got no answer)' : ` (it last answered ${call.status})`;
}

function stoppedBy({ waited, message }: Doing, daemonLives: boolean): Phrase {
  if (waited !== null)
    return phrase`: it waited until ${waited} (${reasonOf(waited.reason)}), and nothing took it up since`;
  if (message !== null) return phrase`: ${message}`;
  return daemonLives ? phrase`: its process ended` : phrase`: its process ended, and no daemon runs`;
}

function whyIdle({ message }: Doing, daemonLives: boolean, isStuck: boolean): Phrase {
  if (isStuck) return phrase`no run of the daemon begins`;
  if (!daemonLives) return phrase`no daemon runs it`;
  return message === null
    ? phrase`its next run has not come yet`
    : phrase`its last walk proved nothing: ${message}`;
}

/** What brings the next run. */
function nextStep(job: string, nextRun: string | null, { daemonLives, isStuck }: Around): Phrase {
  if (!daemonLives) return phrase`no daemon is running: market-mirror start, or market-mirror sync ${job}`;
  if (isStuck) return phrase`mend what keeps the runs waiting, or market-mirror sync ${job}`;
  const next =
    nextRun === null
      ? phrase`the daemon runs it when it is due`
      : phrase`the daemon runs it at ${{ at: nextRun }}`;
  return phrase`${next}: market-mirror plan says whether the quota will do, its log what went wrong`;
}
