/** Problems for people, with one cause said once: the same on a terminal and on the page. Pure: it runs in a browser, too. */

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

/** What lies behind several problems at once; each of the first three also has a problem of its own, of no dataset. */
export type Cause = 'key-refused' | 'unreachable' | 'no-daemon' | 'clock';

type Problem = {
  level: 'error' | 'warning';
  code: string;
  /** Null where the problem is not of one dataset. */
  job: string | null;
  cause: Cause | null;
  messageParts: Phrase;
  adviceParts: Phrase;
};

export type FoldedProblem<Code extends string = string> = Pick<
  Problem,
  'level' | 'messageParts' | 'adviceParts'
> & {
  code: Code;
  /** Those that the message is about; empty where it is about none. */
  jobs: readonly string[];
  /** What a cause does to datasets, which it names: `news is stale`. Null where there is no more to say. */
  effect: string | null;
};

/**
 * Problems of one cause become one, and so do those that say the same of several datasets. The gravest first.
 * @param text of a phrase, as it will be shown.
 */
export function foldProblems<Code extends string>(
  problems: readonly (Problem & { code: Code })[],
  text: (said: Phrase) => string = textOf,
): FoldedProblem<Code>[] {
  const same = ({ level, job, messageParts, adviceParts }: Problem) =>
    JSON.stringify([level, text(messageParts), text(ofAll(adviceParts, job))]);
  const groups = new Map<string, (Problem & { code: Code })[]>();
  for (const problem of problems) {
    const key = problem.cause ?? same(problem);
    groups.set(key, [...(groups.get(key) ?? []), problem]);
  }
  const folded = [...groups.values()].map((group): FoldedProblem<Code> => {
    const [first] = group as [Problem & { code: Code }];
    const own = group.find(({ job }) => job === null);
    const ofDatasets = group.filter(({ job }) => job !== null);
    const jobs = ofDatasets.flatMap(({ job }) => job ?? []);
    const level = group.some((problem) => problem.level === 'error') ? 'error' : 'warning';
    // The times at which a clock was ahead differ, and say nothing.
    const isOne = first.cause === 'clock' || ofDatasets.every((problem) => same(problem) === same(first));
    if (!own && isOne) {
      const { code, messageParts, job } = first;
      const adviceParts = jobs.length > 1 ? ofAll(first.adviceParts, job) : first.adviceParts;
      return { level, code, jobs, effect: null, messageParts, adviceParts };
    }
    const { messageParts, adviceParts, code } = own ?? { ...first, ...noDaemon };
    const effect = ofDatasets.length === 0 ? null : effectOn(ofDatasets);
    return { level, code, jobs: [], effect, messageParts, adviceParts };
  });
  const ofLevel = (level: Problem['level']) => folded.filter((problem) => problem.level === level);
  return [...ofLevel('error'), ...ofLevel('warning')];
}

const noDaemon = {
  messageParts: ['no daemon is running'],
  adviceParts: ['run market-mirror start, or market-mirror sync'],
} satisfies Partial<Problem>;

/** `ai-signals, news are stale; usage has never been complete`. */
function effectOn(problems: readonly Problem[]): string {
  const named = (isNever: boolean) =>
    problems.flatMap(({ code, job }) => ((code === 'never-complete') === isNever ? (job ?? []) : []));
  const [stale, never] = [named(false), named(true)];
  return [
    ...(stale.length > 0 ? [`${stale.join(', ')} ${stale.length === 1 ? 'is' : 'are'} stale`] : []),
    ...(never.length > 0
      ? [`${never.join(', ')} ${never.length === 1 ? 'has' : 'have'} never been complete`]
      : []),
  ].join('; ');
}

/** Advice for all datasets instead of one: `market-mirror sync` instead of `market-mirror sync news`. */
const ofAll = (advice: Phrase, job: string | null): Phrase =>
  job === null
    ? advice
    : advice.map((piece) => (typeof piece === 'string' ? piece.replace(` ${job}`, '') : piece));
