/** When a call gets a scripted fault: in code by `when`, as text by `parseFaults`. What faults do is in `faults/`. */

import type { Answer, AnswerContext, ApiRequest, Fault } from './answer.ts';
import type { EndpointName } from './datasets.ts';
import { endpoints } from './endpoints.ts';
import { namedFaults } from './faults/named.ts';
import type { Random } from './random.ts';

export * from './faults/answers.ts';
export * from './faults/connections.ts';
export * from './faults/pages.ts';

export type FaultScript = (request: ApiRequest, random: Random) => Fault | readonly Fault[] | undefined;

/** All members given have to agree. */
export type Match = {
  endpoint?: EndpointName | readonly EndpointName[];
  /** Calls for the page at this offset. */
  offset?: number;
  /** Of the calls that match so far, the first is 1. */
  nth?: number | readonly number[];
  /** The first of them that gets the fault, and the last. */
  from?: number;
  to?: number;
  /** The probability of the fault, from 0 to 1. */
  chance?: number;
};

/** Faults for the calls that match, applied one after the other. */
export function when(match: Match, ...faults: readonly Fault[]): FaultScript {
  const names = match.endpoint === undefined ? undefined : [match.endpoint].flat();
  const nth = match.nth === undefined ? undefined : [match.nth].flat();
  let seen = 0;
  return (request, random) => {
    if (names && !(request.endpoint && names.includes(request.endpoint))) return undefined;
    if (match.offset !== undefined && match.offset !== request.offset) return undefined;
    seen += 1;
    if (nth && !nth.includes(seen)) return undefined;
    if (seen < (match.from ?? 1) || seen > (match.to ?? Number.POSITIVE_INFINITY)) return undefined;
    if (match.chance !== undefined && random() >= match.chance) return undefined;
    return faults;
  };
}

export function applyFaults(answer: Answer, scripts: readonly FaultScript[], context: AnswerContext): Answer {
  return scripts
    .flatMap((script) => script(context.request, context.random) ?? [])
    .reduce((planned, fault) => fault(planned, context), answer);
}

const entryForm =
  /^(?:(?<endpoint>[a-z-]+)=)?(?<name>[a-z0-9-]+?)(?:\((?<argument>[^()]*)\))?(?::(?<chance>[\d.]+)|@(?<first>[1-9]\d*)(?<range>-(?<last>\d+)?)?)?$/;

/**
 * Reads such as `503:0.05` (one call in twenty), `news=html@3` (the third call to news), `slow(2s)` (every call),
 * separated by commas.
 * @throws Error whose one line names the entry and what is wrong with it
 */
export function parseFaults(text: string): FaultScript[] {
  return text
    .split(/,(?![^(]*\))/)
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '')
    .map(parseEntry);
}

/** One line a fault, for help texts. */
export function describeFaults(): string {
  const written = Object.entries(namedFaults).map(([name, { usual, about }]) => ({
    name: usual ? `${name}(${usual})` : name,
    about,
  }));
  const width = Math.max(...written.map(({ name }) => name.length));
  return written.map(({ name, about }) => `  ${name.padEnd(width)}  ${about}`).join('\n');
}

function parseEntry(entry: string): FaultScript {
  const parts = entryForm.exec(entry)?.groups;
  if (!parts) throw new Error(`"${entry}" is not of the form [endpoint=]name[(argument)][:chance or @call]`);
  const { endpoint, name = '', argument, chance, first, range, last } = parts;
  const match: Match = {
    ...(endpoint === undefined ? {} : { endpoint: endpointNamed(endpoint) }),
    ...(chance === undefined ? {} : { chance: probability(chance) }),
    ...(first === undefined ? {} : callRange(Number(first), range, last)),
  };
  return when(match, faultNamed(name, argument));
}

function faultNamed(name: string, argument: string | undefined) {
  // An own property: "constructor" is no fault.
  const named = Object.hasOwn(namedFaults, name) ? namedFaults[name] : undefined;
  if (!named) throw new Error(`there is no fault "${name}": see --help`);
  if (argument !== undefined && named.usual === undefined)
    throw new Error(`fault "${name}" takes no argument`);
  try {
    return named.create(argument ?? named.usual ?? '');
  } catch (error) {
    throw new Error(`fault "${name}": ${error instanceof Error ? error.message : error}`);
  }
}

function endpointNamed(text: string): EndpointName {
  const known = endpoints.map(({ path, name }) => ({ name, written: path.slice(path.lastIndexOf('/') + 1) }));
  const found = known.find(({ written }) => written === text);
  if (!found)
    throw new Error(
      `there is no endpoint "${text}": one of ${known.map(({ written }) => written).join(', ')}`,
    );
  return found.name;
}

function probability(text: string): number {
  const number = Number(text);
  if (!(number >= 0 && number <= 1)) throw new Error(`"${text}" is not a chance from 0 to 1`);
  return number;
}

function callRange(first: number, range: string | undefined, last: string | undefined): Match {
  if (range === undefined) return { nth: first };
  return last === undefined ? { from: first } : { from: first, to: Number(last) };
}
