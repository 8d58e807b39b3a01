/** A list of scripted faults as text: `[endpoint=]name[(argument)][:chance | @call | @first-last | @first-]`. */

import { type EndpointName, endpoints } from '../endpoints.ts';
import { namedFaults } from './named.ts';
import { type FaultScript, type Match, when } from './script.ts';

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
