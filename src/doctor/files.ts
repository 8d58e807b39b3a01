/** Who may read and write the files with secrets, the folder of the mirror, and its files. */

import {
  accessSync,
  constants,
  existsSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { WORLD_PERMISSION_BITS } from '../base/key.ts';
import { textIn } from '../base/text-file.ts';
import { parseDotEnv } from '../config/dot-env.ts';
import { allSettings, type Environment, secretsIn } from '../config/settings.ts';
import { filesystemAt, mirrorFile, refuseNetworkFilesystem } from '../store/read.ts';
import { type Check, ok, problem, problemOf, warning } from './check.ts';

const ALL_BUT_OWNER = 0o077;

/** @param environment with the settings that are used. */
export function checkFiles(dir: string, environment: Environment): Check[] {
  const folder = checkFolder(dir);
  return [...checkSecrets(environment), folder, ...(folder.level === 'problem' ? [] : checkMirrorFiles(dir))];
}

/** Files with secrets: what they hold, and who may read it. Their group may, since services get their secrets so. */
function checkSecrets(environment: Environment): Check[] {
  const files = allSettings.filter(({ isFile, name }) => isFile && environment[name]);
  return [
    ...checkEnvFile('.env'),
    ...files.flatMap(({ name, secretIn }) => {
      const file = environment[name] ?? '';
      // A container makes a folder of a file that is not there.
      const isFile = existsSync(file) && statSync(file).isFile();
      const secret = isFile && mayRead(file) ? secretIn(readFileSync(file, 'utf8')) : undefined;
      return secret === undefined ? [] : [checkSecret(file, [secret], `is ${name}`)];
    }),
  ];
}

function checkEnvFile(file: string): Check[] {
  if (!existsSync(file)) return [];
  return [checkSecret(file, secretsIn(parseDotEnv(textIn(readFileSync(file), file))), 'is read')];
}

function checkSecret(file: string, secrets: string[], use: string): Check {
  const { mode } = statSync(file);
  if (secrets.length === 0 || !(mode & WORLD_PERMISSION_BITS)) return ok(file, `${use}, mode ${octal(mode)}`);
  return problem(
    file,
    'config',
    `holds ${listed(secrets)}, and every user may use it (${octal(mode)})`,
    `chmod 600 ${file}`,
  );
}

const listed = (names: string[]) =>
  [...(names.length > 1 ? [names.slice(0, -1).join(', ')] : []), names.at(-1)].join(' and ');

function checkFolder(dir: string): Check {
  const name = 'folder';
  const there = nearestExisting(dir);
  if (there !== dir && succeeds(() => readlinkSync(dir)))
    return problem(name, 'disk', `${dir} is a symbolic link to nothing`, 'make its target, or remove it');
  const found = statSync(there);
  if (!found.isDirectory())
    return problem(name, 'disk', `${there} is no folder`, 'set MIRROR_DIR to a folder');
  try {
    refuseNetworkFilesystem(mirrorFile(there));
  } catch (thrown) {
    return problemOf(name, thrown);
  }
  if (!mayWrite(there) || !mayList(there))
    return problem(
      name,
      'disk',
      there === dir ? `${dir} may not be read and written by this user` : `${dir} cannot be made in ${there}`,
      `run as the user of the mirror, change the owner of ${there}, or set MIRROR_DIR to another folder`,
    );
  const { name: filesystem, verdict } = filesystemAt(mirrorFile(there));
  if (verdict === 'doubtful')
    return warning(
      name,
      `${there} lies on ${filesystem}, whose locks may not keep two daemons apart`,
      'set MIRROR_DIR to a folder on a local disk',
    );
  if (there !== dir) return ok(name, `${dir} is made by the first run`);
  return found.mode & ALL_BUT_OWNER
    ? warning(name, `${dir} is open to others (${octal(found.mode)})`, `chmod 700 ${dir}`)
    : ok(name, `${dir} is for its user alone`);
}

function checkMirrorFiles(dir: string): Check[] {
  const name = 'files';
  if (!existsSync(mirrorFile(dir))) return [];
  const owner = statSync(dir).uid;
  const files = readdirSync(dir)
    .filter((file) => /^mirror\b.*(\.db(-wal|-shm)?|\.id)$/.test(file))
    .map((file) => join(dir, file))
    // A write-ahead log may go meanwhile.
    .flatMap((file) => ({ file, stat: statSync(file, { throwIfNoEntry: false }) }));
  const those = (wrong: (stat: { uid: number; mode: number }, file: string) => unknown) =>
    files
      .filter(({ stat, file }) => stat && wrong(stat, file))
      .map(({ file }) => file)
      .join(' ');
  const foreign = those(({ uid }) => uid !== owner);
  if (foreign)
    return [problem(name, 'disk', `not of the folder's user: ${foreign}`, `chown ${owner} ${foreign}`)];
  const shut = those(({ uid }, file) => uid === process.getuid?.() && !mayWrite(file));
  if (shut) return [problem(name, 'disk', `may not be written: ${shut}`, `chmod 600 ${shut}`)];
  const open = those(({ mode }) => mode & ALL_BUT_OWNER);
  return open
    ? [warning(name, `open to others: ${open}`, `chmod 600 ${open}`)]
    : [ok(name, `${files.length} of the mirror, for its user alone`)];
}

/** The folder itself, or the nearest one above that exists. */
export function nearestExisting(dir: string): string {
  return existsSync(dir) ? dir : nearestExisting(dirname(dir));
}

const mayRead = (path: string) => succeeds(() => accessSync(path, constants.R_OK));
const mayWrite = (path: string) => succeeds(() => accessSync(path, constants.W_OK));
const mayList = (folder: string) => succeeds(() => readdirSync(folder));

function succeeds(work: () => unknown): boolean {
  try {
    work();
    return true;
  } catch {
    return false;
  }
}

const octal = (mode: number) => (mode & 0o777).toString(8).padStart(4, '0');
