/** A report as its file says it: a `.sql` file whose first comments say when it runs, how fresh its data must be, and whom it tells. */

import {
  closeSync,
  constants,
  existsSync,
  fstatSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  statSync,
} from 'node:fs';
import { dirname, extname, isAbsolute, join, normalize, sep } from 'node:path';
import { makeFolder } from '../base/disk.ts';
import { Failure, toError } from '../base/errors.ts';
import { whyForeign } from '../base/foreign.ts';
import { nearest } from '../base/near.ts';
import { printable } from '../base/printable.ts';
import { parseSchedule, type Schedule } from '../base/schedule.ts';
import { textIn } from '../base/text-file.ts';
import { millisecondsOf } from '../base/time.ts';
import { type FileFormat, fileFormats } from '../reading/export.ts';

export type Report = {
  /** Of its file, without `.sql`. */
  name: string;
  title: string;
  /** The whole file, so that SQLite counts its lines. */
  sql: string;
  run: 'on change' | Exclude<Schedule, 'off'>;
  /** How old the proof of a dataset may be that it reads; undefined for any age. */
  freshMs: number | undefined;
  to: { pattern: string; format: FileFormat } | undefined;
  tell: 'rows' | 'always' | 'never';
  /** Columns that together tell one row from another; empty where it is no alert. */
  watch: readonly string[];
  /** For the shell, instead of the webhook. */
  command: string | undefined;
  /** On which line of the file each word stands. */
  lines: Readonly<Partial<Record<Word, number>>>;
};

/** One thing that is wrong with a file. `message` begins with file and line, where it has one. */
export type Mistake = { report: string; message: string };

export type ReportFiles = { reports: readonly Report[]; mistakes: readonly Mistake[] };

const words = ['title', 'run', 'fresh', 'to', 'tell', 'watch', 'command'] as const;
type Word = (typeof words)[number];

const ENDING = '.sql';

/** Of a file: the daemon reads all of them again and again. */
const MAX_FILE_BYTES = 1_000_000;

/**
 * Reads every report of a folder. One that is wrong stops no other.
 * @param hasWebhook whether there is one to tell.
 * @throws Failure `config` where the folder cannot be read, or others may put a command there.
 */
export function readReportFiles(folder: string, hasWebhook: boolean): ReportFiles {
  const reports: Report[] = [];
  const mistakes: Mistake[] = [];
  for (const file of filesIn(folder)) {
    const isNamed = file.endsWith(ENDING);
    const name = isNamed ? file.slice(0, -ENDING.length) : file;
    const add = (message: string, line?: number) =>
      mistakes.push({
        report: name,
        message: `${printable(file)}${line === undefined ? '' : `:${line}`}: ${message}`,
      });
    try {
      if (!isNamed) throw new Failure('config', `name it ${file.slice(0, -ENDING.length)}${ENDING}`);
      if (!/^\w[\w.-]*$/.test(name))
        throw new Failure('config', 'name it with letters, digits and . _ - alone');
      const before = mistakes.length;
      const report = parseReport(name, readOwn(join(folder, file)), hasWebhook, add);
      const twin = reports.find((other) => isSameFile(other.to?.pattern, report.to?.pattern));
      if (twin) add(`to: ${twin.name}${ENDING} writes that file already: name another`, report.lines.to);
      if (mistakes.length === before) reports.push(report);
    } catch (thrown) {
      if (!(thrown instanceof Failure)) throw thrown;
      add(thrown.message);
    }
  }
  return { reports, mistakes };
}

/** The mistakes of each report in one text. */
export function mistakesByReport(mistakes: readonly Mistake[]): Map<string, string> {
  const texts = new Map<string, string>();
  for (const { report, message } of mistakes)
    texts.set(report, texts.has(report) ? `${texts.get(report)}; ${message}` : message);
  return texts;
}

function filesIn(folder: string): string[] {
  try {
    refuseOthers(statSync(folder));
    return readdirSync(folder)
      .filter((file) => file.toLowerCase().endsWith(ENDING) && !file.startsWith('.'))
      .sort();
  } catch (thrown) {
    const why = thrown instanceof Failure ? thrown.message : `cannot be read (${codeOf(thrown)})`;
    throw new Failure('config', `MIRROR_REPORTS: ${folder} ${why}`);
  }
}

function readOwn(file: string): string {
  let opened: number | undefined;
  try {
    // A pipe would wait for somebody who writes to it.
    opened = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
    const found = fstatSync(opened);
    if (!found.isFile()) throw new Failure('config', 'is no file');
    refuseOthers(found);
    if (found.size > MAX_FILE_BYTES) throw new Failure('config', 'is larger than 1 MB');
    return textIn(readFileSync(opened), 'the file');
  } catch (thrown) {
    throw thrown instanceof Failure ? thrown : new Failure('config', `cannot be read (${codeOf(thrown)})`);
  } finally {
    if (opened !== undefined) closeSync(opened);
  }
}

const codeOf = (thrown: unknown) => (thrown as NodeJS.ErrnoException).code ?? toError(thrown).message;

function refuseOthers(found: { mode: number; uid: number; gid: number }): void {
  const user = process.getuid?.();
  const foreign = whyForeign(found, { user, allowsOwnGroup: true });
  if (!foreign) return;
  const mode = (found.mode & 0o777).toString(8).padStart(4, '0');
  throw new Failure(
    'config',
    `${foreign.why}${foreign.isOwned ? ` (${mode})` : ''}, and may hold a command: ${foreign.isOwned ? 'chmod go-w' : `chown it to ${user}`}`,
  );
}

/** One writes what is the receipt of the other, too. */
function isSameFile(one: string | undefined, other: string | undefined): boolean {
  if (one === undefined || other === undefined) return false;
  const files = (pattern: string) => [pattern, `${pattern}.meta.json`].map((path) => path.toLowerCase());
  return files(one).some((file) => files(other).includes(file));
}

/** A report as the mirror knows it; undefined where its file is wrong. */
export function reportOf(name: string, sql: string): Report | undefined {
  let isRight = sql !== '';
  const report = parseReport(name, sql, true, () => {
    isRight = false;
  });
  return isRight ? report : undefined;
}

/** @param add called for each mistake. */
function parseReport(
  name: string,
  sql: string,
  hasWebhook: boolean,
  add: (message: string, line?: number) => void,
): Report {
  const { said, lines } = readHeader(sql, add);
  const read = <Value>(word: Word, parse: (text: string) => Value): Value | undefined => {
    const text = said[word];
    try {
      return text === undefined ? undefined : parse(text);
    } catch (thrown) {
      add(`${word}: ${toError(thrown).message}`, lines[word]);
      return undefined;
    }
  };
  const watch = read('watch', parseColumns) ?? [];
  const tell = read('tell', parseTell);
  const { command } = said;
  const report: Report = {
    name,
    sql,
    title: said.title ?? name,
    run: read('run', parseRun) ?? 'on change',
    freshMs: read('fresh', parseAge),
    to: read('to', parseTo),
    tell: tell ?? (hasWebhook || command !== undefined ? 'rows' : 'never'),
    watch,
    command,
    lines,
  };
  const receives = report.tell !== 'never';
  if (receives && !hasWebhook && command === undefined)
    add('tell: there is nobody to tell: set MIRROR_NOTIFY, or add a line -- command:', lines.tell);
  else if (!receives && watch.length > 0)
    add(
      tell === 'never'
        ? 'watch: it is for rows to tell of, and tell: says never: leave one of them out'
        : 'watch: there is nobody to tell: set MIRROR_NOTIFY, or add a line -- command:',
      lines.watch,
    );
  else if (!receives && command !== undefined)
    add('command: it is never run, since tell: says never: leave one of them out', lines.command);
  else if (!receives && said.to === undefined)
    add('its result goes nowhere: set MIRROR_NOTIFY, or add a line -- to: or -- command:', 1);
  return report;
}

const HEADER = /^\s*--+\s*([A-Za-z][\w-]*)\s*([:=])(\s*)(.*)$/;

/** The words of the comments before the SQL, and the lines on which they stand. */
function readHeader(sql: string, add: (message: string, line?: number) => void) {
  const said: Partial<Record<Word, string>> = {};
  const lines: Partial<Record<Word, number>> = {};
  let isHeader = true;
  for (const [at, text] of sql.split(/\r?\n/).entries()) {
    const line = at + 1;
    isHeader &&= /^\s*(--.*)?$/.test(text);
    const [, written, sign, space, value = ''] = HEADER.exec(text) ?? [];
    if (written === undefined) continue;
    const word = words.find((known) => known === written.toLowerCase());
    // Other comments may have a colon within a word, such as an address.
    const isWithin = space === '' && value !== '' && nearest(written, words) === '';
    if (!word && (sign === '=' || isWithin)) continue;
    if (!isHeader) {
      if (word && sign === ':')
        add(`${word}: stands behind the beginning of the SQL, where it says nothing: move it up`, line);
    } else if (word && sign === '=')
      add(`${written} = is no word of a report: write ${word}: ${printable(value)}`, line);
    else if (!word)
      add(
        `'${written}:' is no word of a report${nearest(written, words) || `; known are ${words.join(', ')}`}`,
        line,
      );
    else if (value.trim() === '') add(`${word}: says nothing`, line);
    else if (said[word] !== undefined) add(`${word}: stands twice, first on line ${lines[word]}`, line);
    else {
      said[word] = value.trim();
      lines[word] = line;
    }
  }
  return { said, lines };
}

function parseRun(text: string): Report['run'] {
  if (/^on\s+change$/i.test(text)) return 'on change';
  const schedule = attempt(() => parseSchedule(text));
  if (schedule !== undefined && schedule !== 'off') return schedule;
  throw new Error(
    `'${text}' is neither 'on change', nor an interval such as 'every 1h' (1s to 30d), nor a cron pattern such as '0 7 * * *' (UTC)`,
  );
}

function parseAge(text: string): number {
  const age = millisecondsOf(text);
  if (age) return age;
  throw new Error(`'${text}' is no age such as 10m`);
}

function parseTell(text: string): Report['tell'] {
  const known = ['rows', 'always', 'never'] as const;
  const tell = known.find((one) => one === text.toLowerCase());
  if (tell) return tell;
  throw new Error(`'${text}' is none of ${known.join(', ')}${nearest(text, known)}`);
}

function parseColumns(text: string): string[] {
  const columns = text.split(',').map((column) => column.trim());
  if (columns.includes('')) throw new Error('it names an empty column: separate columns by one comma');
  return columns;
}

const marks = ['date', 'time'] as const;
const leavesFolder = (path: string, how = '') =>
  `'${path}' leaves the folder of reports${how}: name a file below MIRROR_REPORTS_TO`;

function parseTo(text: string): Report['to'] {
  const path = normalize(text);
  if (isAbsolute(text) || path.split(sep)[0] === '..' || path.endsWith(sep) || /\0/.test(text))
    throw new Error(leavesFolder(text));
  for (const [, mark = ''] of text.matchAll(/\{([^}]*)\}/g))
    if (!marks.some((known) => known === mark))
      throw new Error(`{${mark}} is neither {date} nor {time}${nearest(mark, marks)}`);
  const ending = extname(path).slice(1).toLowerCase();
  const format = fileFormats.find((known) => known === (ending === 'jsonl' ? 'ndjson' : ending));
  if (format) return { pattern: path, format };
  throw new Error(`'${text}' does not say its format: end it in .${fileFormats.join(', .')}`);
}

function attempt<Value>(work: () => Value): Value | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}

/**
 * Where the result of a run goes; its folder is made. @param to the folder of all results. @param at ISO 8601 UTC.
 * @throws Failure `usage` where a link leads out of that folder.
 */
export function fileOf({ to: file, lines }: Report, to: string, at: string): string | undefined {
  if (!file) return undefined;
  const [date = '', time = ''] = at.slice(0, 19).split('T');
  const path = file.pattern.replaceAll('{date}', date).replaceAll('{time}', time.replaceAll(':', ''));
  const folder = dirname(join(to, path));
  makeFolder(to, 0o700);
  let there = folder;
  while (!existsSync(there)) there = dirname(there);
  if (!`${realpathSync(there)}${sep}`.startsWith(`${realpathSync(to)}${sep}`))
    throw new Failure('usage', `to: ${leavesFolder(path, ', through a link')}, line ${lines.to}`);
  makeFolder(folder, 0o700);
  return join(to, path);
}
