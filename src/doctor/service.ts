/** What the daemon runs beside its walks: the service, and the sinks that follow the mirror. */

import { readDaemon, readService } from '../reading/status.ts';
import { type SinkName, sinkNames, sinks } from '../sinks.ts';
import { type Check, ok, problemOf, warning } from './check.ts';

/** Whether the daemon brings changes to each of its sinks. */
export function checkTargets(dir: string): Check[] {
  return sinkNames.flatMap((sink) => checkTarget(dir, sink));
}

function checkTarget(dir: string, sink: SinkName): Check[] {
  try {
    const note = readDaemon(dir)?.[sink];
    if (!note) return [];
    const { name } = sinks[sink];
    if (!note.trouble) return [ok(sink, `the daemon brings what changes to ${name}`)];
    const { message, since, nextTry } = note.trouble;
    const advice = `the daemon tries again at ${nextTry}`;
    return [warning(sink, `nothing has arrived in ${name} since ${since}: ${message}`, advice)];
  } catch (thrown) {
    return [problemOf(sink, thrown)];
  }
}

export function checkService(dir: string): Check[] {
  const name = 'serve';
  try {
    const trouble = readDaemon(dir)?.serve;
    if (trouble) {
      const { message, since, nextTry } = trouble;
      return [
        warning(name, `does not run since ${since}: ${message}`, `the daemon tries again at ${nextTry}`),
      ];
    }
    const service = readService(dir);
    return service ? [ok(name, `${service.url ?? 'starting'}, process ${service.pid}`)] : [];
  } catch (thrown) {
    return [problemOf(name, thrown)];
  }
}
