/** The access log: a line for each call, in which nothing stands that a client made up. */

import type { Log } from '../../../log.ts';
import type { AnsweredCall } from '../../http/app.ts';

/** Neither key nor path nor query: the route is the name of an endpoint, `other` for what is none. */
export function createAccessLog(log: Log): (call: AnsweredCall) => void {
  // Nothing in a line needs to be taken out, and looking for it takes a third of the time of the line.
  const plain = log.child({}, { redact: [] });
  return ({ ms, ...call }) => {
    if (plain.isLevelEnabled('info')) plain.info({ ...call, ms: Math.round(ms * 100) / 100 }, 'answered');
  };
}
