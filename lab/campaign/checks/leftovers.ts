/** What must be left of the program once it has ended: its mirror, and nothing else. */

import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Finding } from '../checks.ts';
import { processesIn } from '../world/processes.ts';
import type { World } from '../world.ts';

/** The files in the mirror's folder after the daemon has ended; a file that a killed lake was sending stays for a day. */
const belongs =
  /^(lake-partial\/.*|mirror\.(db|id)|queue\.json|locks(\/.*)?|redis(\/appendonlydir(\/.*)?)?)$/;
/** Made by the attacks and by the consumer. */
const ours = /^(since-.*|clock|external-redis.*)$/;
const UNTIL_GONE_MS = 5_000;

/** @param world whose daemon has been ended. */
export async function checkLeftovers(world: World): Promise<Finding[]> {
  const orphan = (what: string): Finding => ({ kind: 'orphan', what });
  const files = filesBelow(world.mirrorDir).filter((name) => !belongs.test(name));
  const temporary = filesBelow(world.scratch).filter(
    (name) => !ours.test(name) && !isUnlinkedLate(join(world.scratch, name)),
  );
  return [
    ...(await processesLeft(world)).map((name) => orphan(`the process ${name} is left`)),
    ...[...files, ...temporary].map((name) => orphan(`the file ${name} is left`)),
    ...readdirSync(world.work).map((name) => orphan(`the file ${name} is left in the working folder`)),
    ...filesWith(world).map((what): Finding => ({ kind: 'false', what: `the key lies in ${what}` })),
    ...(existsSync(world.mark) ? [{ kind: 'false', what: 'a shell obeyed a value of a row' } as const] : []),
  ];
}

/** SQLite opens a temporary file and removes its name in the next step: whoever is killed in between leaves an empty one. */
const isUnlinkedLate = (file: string) => /\/etilqs_[^/]*$/.test(file) && statSync(file).size === 0;

/** Those of a killed daemon end with it, but not in the same moment. */
async function processesLeft({ folder }: World): Promise<string[]> {
  const left = () => processesIn(folder).map(({ name, pid }) => `${name} (${pid})`);
  for (let waited = 0; waited < UNTIL_GONE_MS && left().length > 0; waited += 100)
    await new Promise((resolve) => setTimeout(resolve, 100));
  return left();
}

function filesWith({ folder, key }: World): string[] {
  return filesBelow(folder).filter((name) => readFileSync(join(folder, name)).includes(key));
}

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) =>
    statSync(join(folder, name)).isFile(),
  );
}
