/** The service on the folder, where one runs or is meant to. */

import { readDaemon, readService } from '../reading/status.ts';
import { type Check, ok, problemOf, warning } from './check.ts';

/** How far the daemon has shipped, where it ships. */
export function checkShipping(dir: string): Check[] {
  const name = 'ship';
  try {
    const note = readDaemon(dir)?.ship;
    if (!note) return [];
    if (!note.trouble) return [ok(name, 'the daemon ships what changes')];
    const { message, since, nextTry } = note.trouble;
    return [
      warning(name, `nothing is shipped since ${since}: ${message}`, `the daemon tries again at ${nextTry}`),
    ];
  } catch (thrown) {
    return [problemOf(name, thrown)];
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
