/** What the daemon runs beside its walks: the service, and the targets that follow the mirror. */

import { readDaemon, readService } from '../reading/status.ts';
import { type TargetName, targetNames, targets } from '../targets.ts';
import { type Check, ok, problemOf, warning } from './check.ts';

/** Whether the daemon brings changes to each of its targets. */
export function checkTargets(dir: string): Check[] {
  return targetNames.flatMap((target) => checkTarget(dir, target));
}

function checkTarget(dir: string, target: TargetName): Check[] {
  try {
    const note = readDaemon(dir)?.[target];
    if (!note) return [];
    const { name } = targets[target];
    if (!note.trouble) return [ok(target, `the daemon brings what changes to ${name}`)];
    const { message, since, nextTry } = note.trouble;
    const advice = `the daemon tries again at ${nextTry}`;
    return [warning(target, `nothing has arrived in ${name} since ${since}: ${message}`, advice)];
  } catch (thrown) {
    return [problemOf(target, thrown)];
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
