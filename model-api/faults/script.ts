/** When faults strike. A script looks at a call and names the faults of its answer, if any. */

import type { Answer, AnswerContext, ApiRequest } from '../answer.ts';
import type { EndpointName } from '../endpoints.ts';
import type { Random } from '../random.ts';

/** Turns the answer that was planned into the one that is sent. */
export type Fault = (answer: Answer, context: AnswerContext) => Answer;

export type FaultScript = (request: ApiRequest, random: Random) => Fault | readonly Fault[] | undefined;

/** All members given have to agree. */
export type Match = {
  endpoint?: EndpointName | readonly EndpointName[];
  /** Calls for the page at this offset. */
  offset?: number;
  /** Of the calls that match so far, the first is 1. */
  nth?: number | readonly number[];
  /** The first of them that is struck, and the last. */
  from?: number;
  to?: number;
  /** Strikes with this probability, from 0 to 1. */
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
