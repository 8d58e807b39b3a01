/**
 * One random life of a mirror of one list: real HTTP, a real database, virtual time, the runs of the daemon and the commands of people.
 * What must hold: no row that stood upstream all the while leaves; two calm walks bring all that stands upstream, and some more
 * nothing else.
 */

import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { openApp } from '../../src/app.ts';
import { Failure, Snooze } from '../../src/base/errors.ts';
import { main } from '../../src/commands.ts';
import { loadJobs } from '../../src/job/load.ts';
import type { Job } from '../../src/job.ts';
import { Database } from '../../src/store/sqlite.ts';
import { memory, removeFolder } from '../../test/helpers/folder.ts';
import { mirroredForm, upstreamForm } from '../../test/helpers/truth.ts';
import { virtualClock } from '../../test/helpers/virtual-clock.ts';
import type { During, Step, Task, WholeLife } from './events.ts';
import { isSpoiled, kinds, openList, type Row } from './lists.ts';
import type { Upstream } from './upstream.ts';

const MINUTE = 60_000;
const WALKS_TO_HAVE_ALL = 2;
/** Two rows that share a key may count as one until the walk behind the one that finds another key; if they age, their age is found before. */
const WALKS_TO_TELL_TWINS = 1;
const WALKS_TO_FIND_AGE = 4;
const WALKS_TO_SETTLE = 10;

/** Where the mirror holds rows, each as one text. */
type Holdings = Record<'table' | 'held' | 'past' | 'refused', Set<string>>;

const none: Holdings = { table: new Set(), held: new Set(), past: new Set(), refused: new Set() };

/** What happened in lives, in numbers. */
export type Tally = Record<string, number>;

class Broken extends Error {}

/**
 * @param setClock gets the clock by which the API counts calls.
 * @throws Error that says which promise was broken.
 */
export async function liveWhole(
  upstream: Upstream,
  life: WholeLife,
  tally: Tally,
  setClock: (now: () => number) => void,
): Promise<void> {
  const kind = kinds[life.kind];
  if (!kind) throw new Error(`no kind ${life.kind}`);
  const jobs = await loadJobs();
  const job = jobs.find(({ name }) => name === kind.job) as Job;
  const mild = job.contract;
  const table = job.table;
  const folder = mkdtempSync(join(memory, 'soak-'));
  const dir = join(folder, 'data');
  const file = join(dir, 'mirror.db');
  const backup = join(folder, 'backup.db');
  const clock = virtualClock();
  setClock(clock.now);
  const { state } = upstream;
  const list = openList(kind, life.size);
  const settings: Record<string, string> = {};
  const setting = (what: string) => `MIRROR_${what}_${job.name.replaceAll('-', '_').toUpperCase()}`;
  // Ages are found on pages of ten rows or more.
  const pageRows = life.pageRows + (kind.age ? 10 : 0);
  Object.assign(state, {
    ...{ kind, list, envelope: 'rows', pageRows, fault: undefined, quota: undefined },
    ...{ heavyAt: undefined, unreadableAt: undefined, generatedAt: undefined },
  });
  const environment = () => ({
    ...{ MARKET_API_URL: upstream.url, MARKET_API_KEY: 'soak-key', MIRROR_DIR: dir, ...settings },
  });
  const count = (what: string) => {
    tally[what] = (tally[what] ?? 0) + 1;
  };

  const publish = () => {
    clock.advance(100);
    if (life.kind === 'published') state.generatedAt = new Date(clock.now()).toISOString();
  };
  publish();
  if (mild && life.isStrict) job.contract = stricter(mild);

  let hasTwins = false;
  /** Rows that have stood upstream since the mirror was looked at last. */
  let stayed = new Set<Row>(list.rows);
  const edit = (event: Extract<Step, { edit: string }>) => {
    // What the user says of the key is true.
    if (event.edit === 'twin' && settings[setting('KEY')]) return;
    hasTwins ||= event.edit === 'twin';
    list.edit(event);
    const now = new Set(list.rows);
    stayed = new Set([...stayed].filter((row) => now.has(row)));
    publish();
  };

  const withoutAges = ({ quality_age_seconds, quality_freshness, ...form }: Row) => JSON.stringify(form);
  const ofBody = (body: string) => {
    const row = JSON.parse(body) as Record<string, unknown>;
    if (job.contract) return withoutAges(upstreamForm(job, row));
    if (kind.age) delete row[kind.age];
    return JSON.stringify(row);
  };
  const formOf = (row: Row) => ofBody(JSON.stringify(row));

  function isUnfinished(): boolean {
    if (!existsSync(file)) return false;
    const database = new Database(file, { readonly: true });
    const sql = `SELECT 1 FROM walks WHERE job = '${job.name}' AND finished_at IS NULL`;
    const found = database.prepare(sql).get();
    database.close();
    return found !== undefined;
  }

  /** For people who look for the cause. */
  function lastWalks(): string {
    const database = new Database(file, { readonly: true });
    const walks = database
      .prepare(
        `SELECT id, kind, status, verdict, rows, inserted, updated, deleted, held, anomalies, error FROM walks ORDER BY id DESC LIMIT 12`,
      )
      .all();
    const known = database.prepare('SELECT shape, motions FROM _datasets WHERE job = ?').get(job.name);
    database.close();
    return [...walks, known].map((walk) => `\n  ${JSON.stringify(walk)}`).join('');
  }

  function read(): Holdings {
    if (!existsSync(file)) return none;
    const database = new Database(file, { readonly: true });
    try {
      const all = <Found>(sql: string) => database.prepare<[], Found>(sql).all();
      const forms = (from: string) =>
        new Set(
          all<Record<string, unknown>>(`SELECT * FROM ${from}`).map((row) =>
            job.contract ? withoutAges(mirroredForm(job, row)) : ofBody(String(row['_body'])),
          ),
        );
      const refused = (condition: string) =>
        all<{ body: string }>(`SELECT body FROM quarantine WHERE job = '${job.name}' AND ${condition}`).map(
          ({ body }) => ofBody(body),
        );
      return {
        table: forms(table),
        held: forms(`${table} WHERE _held_since IS NOT NULL`),
        past: new Set([...forms(`${table}_history`), ...refused('resolved_at IS NOT NULL')]),
        refused: new Set(refused('resolved_at IS NULL')),
      };
    } finally {
      database.close();
    }
  }

  let before = none;
  let saved: Holdings | undefined;
  let mayForgetVersions = false;

  /** The mirror is at rest. */
  function check(what: string, isRestored = false): Holdings {
    const now = read();
    const isAnywhere = (form: string) => now.table.has(form) || now.past.has(form) || now.refused.has(form);
    if (!isRestored) {
      for (const row of stayed) {
        const form = formOf(row);
        const wasThere = before.table.has(form) || before.refused.has(form);
        const isThere =
          now.table.has(form) || now.refused.has(form) || (list.isTwin(row) && isAnywhere(form));
        if (wasThere && !isThere) throw new Broken(`${form}, upstream throughout, left with ${what}`);
      }
      const lost = mayForgetVersions
        ? undefined
        : [...before.table, ...before.past].find((one) => !isAnywhere(one));
      if (lost) throw new Broken(`${lost} is in neither table nor history after ${what}`);
    }
    before = now;
    stayed = new Set(list.rows);
    return now;
  }

  async function run(
    what: 'walk' | 'glance',
    during: readonly (readonly During[])[],
    again: boolean,
  ): Promise<'complete' | 'union' | Error> {
    const stop = new AbortController();
    const stopped = new Error('stopped');
    const others: Promise<unknown>[] = [];
    let calls = 0;
    let killed: (() => void) | undefined;
    let isAnswering = false;
    const happen = (event: During): void => {
      if ('edit' in event) edit(event);
      else if ('fault' in event) state.fault = event.fault;
      else if ('heavy' in event) state.heavyAt = Math.floor((event.heavy * list.rows.length) / 1_000);
      else if ('unreadable' in event)
        state.unreadableAt = Math.floor((event.unreadable * list.rows.length) / 1_000);
      else if ('jump' in event) clock.jump(event.jump * MINUTE);
      else if ('other' in event) others.push(perform(event.other));
      else {
        if (event.end === 'kill' && !killed) killed = keepFiles();
        stop.abort(stopped);
      }
      count('fault' in event || 'end' in event ? Object.values(event).join() : Object.keys(event).join());
    };
    state.beforeAnswer = async () => {
      // What other processes ask for makes nothing happen.
      if (isAnswering) return;
      isAnswering = true;
      for (const event of during[calls] ?? []) happen(event);
      calls += 1;
      await Promise.allSettled(others.splice(0));
      isAnswering = false;
    };
    let outcome: 'complete' | 'union' | Error;
    const app = await openApp({ environment: environment(), clock, random: () => 0.5, retryRefused: again });
    try {
      const walk = await app.mirror(app.job(job.name), stop.signal, undefined, what);
      outcome = walk.verdict === 'union' ? 'union' : 'complete';
      count(`${what}: ${walk.verdict}`);
      tally['rows removed'] = (tally['rows removed'] ?? 0) + walk.deleted;
    } catch (thrown) {
      if (thrown !== stopped) refuseBug(thrown);
      outcome = thrown as Error;
      count(
        thrown === stopped ? 'stopped' : thrown instanceof Failure ? thrown.kind : (thrown as Snooze).reason,
      );
    } finally {
      state.beforeAnswer = async () => undefined;
      await app.close();
    }
    killed?.();
    return outcome;
  }

  /** As the disk would be, were the process killed now. @returns what puts the files there. */
  function keepFiles(): () => void {
    const names = ['mirror.db', 'mirror.db-wal'];
    const kept = names.map((name) => [name, readIfThere(join(dir, name))] as const);
    return () => {
      for (const name of [...names, 'mirror.db-shm']) rmSync(join(dir, name), { force: true });
      for (const [name, bytes] of kept) if (bytes) writeFileSync(join(dir, name), bytes);
    };
  }

  async function command(...args: string[]): Promise<number> {
    const said: (string | Uint8Array)[] = [];
    const stream = { write: (text: string | Uint8Array) => said.push(text) > 0 };
    const code = await main(args, {
      ...{ environment: environment(), clock, random: () => 0.5, signal: new AbortController().signal },
      ...{ stdout: stream, stderr: stream },
    });
    if (code === 70 || code === 74 || code === 78)
      throw new Broken(`${args.join(' ')} ended with ${code}: ${said.join('')}`);
    return code;
  }

  async function perform(task: Task): Promise<void> {
    count(task);
    if (!existsSync(file)) return;
    if (task === 'retry') await command('quarantine', 'retry', job.name);
    else if (task === 'forget') {
      if (!job.contract) await command('forget', job.name);
    } else if (task === 'backup') {
      if ((await command('backup', backup, '--force')) === 0) saved = undefined;
    } else {
      const app = await openApp({ environment: environment(), clock, random: () => 0.5 });
      await app
        .mirror(app.job(job.name), new AbortController().signal, undefined, task)
        .catch(refuseBug)
        .finally(app.close);
    }
  }

  async function take(step: Step): Promise<void> {
    if ('run' in step) {
      const outcome = await run(step.run, step.during, step.isAgain);
      check(`${step.run} (${outcome instanceof Error ? outcome.message : outcome})`);
      clock.advance(MINUTE);
      return;
    }
    if ('edit' in step) return edit(step);
    if ('wait' in step) return clock.advance(step.wait * MINUTE);
    if ('jump' in step) return clock.jump(step.jump * MINUTE);
    if ('task' in step) {
      await perform(step.task);
      check(step.task);
      if (step.task === 'backup') saved = before;
    } else if ('restore' in step) {
      if (!existsSync(backup)) return;
      if ((await command('restore', backup)) !== 0) return;
      if (saved) before = saved;
      check('restore', !saved);
    } else if ('upgrade' in step) {
      if (!existsSync(file)) return;
      rebuildTables(file);
      await perform('retry');
      check('upgrade');
    } else if ('contract' in step && mild) {
      job.contract = job.contract === mild ? stricter(mild) : mild;
      if (step.contract === 'retry') await take({ task: 'retry' });
    } else if ('envelope' in step) state.envelope = step.envelope;
    else if ('readable' in step) state.unreadableAt = undefined;
    else if ('hint' in step) {
      const name = setting(step.hint);
      const { [step.hint]: value } = kind?.hints ?? {};
      if (settings[name] !== undefined || value === undefined) delete settings[name];
      else settings[name] = value;
      // Places change with the envelope: only what is said of `rows` while they are there is true.
      if (step.hint === 'ROWS' || (step.hint === 'KEY' && hasTwins)) delete settings[name];
      mayForgetVersions ||= step.hint === 'VOLATILE' && kind?.age !== undefined;
    } else if ('limits' in step) {
      if (step.limits) settings['MARKET_API_QUOTA'] = step.limits;
      else delete settings['MARKET_API_QUOTA'];
    } else if ('quota' in step)
      state.quota = step.quota ? { limit: step.quota, periodMs: 60 * MINUTE } : undefined;
    else if ('schedule' in step) settings[setting('SCHEDULE')] = step.schedule;
    count(Object.keys(step).join());
  }

  /** A walk to its end, however long it has to wait. */
  async function calmWalk(): Promise<void> {
    for (let tries = 0; tries < 60; tries += 1) {
      clock.advance(MINUTE);
      const outcome = await run('walk', [], true);
      if (!(outcome instanceof Error)) return;
      const until = outcome instanceof Snooze ? outcome.until - clock.now() : 0;
      clock.advance(Math.max(until, 10 * MINUTE) + 1_000);
      if (tries === 59) throw new Broken(`no calm walk ends: ${outcome.message}`);
    }
  }

  async function checkCalm(): Promise<void> {
    job.contract = mild;
    Object.assign(state, { fault: undefined, unreadableAt: undefined, quota: undefined });
    // A first page of refused rows alone halts the list.
    edit({ edit: 'insert', at: 0, count: 1 });
    // A walk that began before is not calm.
    if (isUnfinished()) await calmWalk();
    const walksToTell = WALKS_TO_TELL_TWINS + (kind?.age ? WALKS_TO_FIND_AGE : 0);
    const walks = WALKS_TO_HAVE_ALL + (hasTwins ? walksToTell : 0);
    for (let walk = 0; walk < walks; walk += 1) await calmWalk();
    const has = check('calm walks');
    const forms = list.rows.map(formOf);
    const missing = forms.find((form) => !has.table.has(form) && !has.refused.has(form));
    if (missing) throw new Broken(`${missing} is in neither table nor quarantine after ${walks} calm walks`);
    const there = new Set(forms);
    const mayStay = list.rows.filter(isSpoiled).length;
    for (let walk = 0; ; walk += 1) {
      const now = read();
      const wrong = [...now.table].filter((form) => !there.has(form));
      if (wrong.length <= mayStay && now.held.size === 0) return;
      if (walk === WALKS_TO_SETTLE)
        throw new Broken(`${[...now.held, ...wrong]} is mirrored or held, though nothing changes any more`);
      await calmWalk();
    }
  }

  try {
    for (const step of life.steps) await take(step);
    await checkCalm();
    count('lives');
  } catch (thrown) {
    if (!(thrown instanceof Broken)) throw thrown;
    throw new Error(`${thrown.message}\nthe last walks: ${lastWalks()}`);
  } finally {
    job.contract = mild;
    removeFolder(folder);
  }
}

type Contract = NonNullable<Job['contract']>;

const stricter = (mild: Contract): Contract => ({
  ...mild,
  row: mild.row.refine((row: Row) => !isSpoiled(row), 'is not spoiled'),
});

/** Failures that an API or people cause are in order, as waits are. */
function refuseBug(thrown: unknown): void {
  const isFine =
    thrown instanceof Snooze ||
    (thrown instanceof Failure && !['bug', 'disk', 'config'].includes(thrown.kind));
  if (!isFine) throw thrown;
}

function readIfThere(file: string): Buffer | undefined {
  return existsSync(file) ? readFileSync(file) : undefined;
}

/** As a migration of drizzle-kit does it where SQLite cannot change a column in place: triggers and generated columns are gone then. */
function rebuildTables(file: string): void {
  const [migration = ''] =
    readFileSync(new URL('../../drizzle/meta/_journal.json', import.meta.url), 'utf8').match(/0000_\w+/) ??
    [];
  const sql = readFileSync(new URL(`../../drizzle/${migration}.sql`, import.meta.url), 'utf8');
  const database = new Database(file);
  database.pragma('foreign_keys = OFF');
  database.pragma('legacy_alter_table = ON');
  const statements = sql.split('--> statement-breakpoint').map((statement) => statement.trim());
  database.transaction(() => {
    for (const statement of statements) {
      const [, name = ''] = /^CREATE TABLE `(\w+)`/.exec(statement) ?? [];
      if (!name || name.startsWith('sqlite')) continue;
      database.exec(statement.replace(`\`${name}\``, `\`__new_${name}\``));
      const columns = database
        .prepare<[], string>(`SELECT '"' || name || '"' FROM pragma_table_info('__new_${name}')`)
        .pluck()
        .all()
        .join();
      database.exec(`INSERT INTO "__new_${name}" (${columns}) SELECT ${columns} FROM "${name}"`);
      database.exec(`DROP TABLE "${name}"`);
      database.exec(`ALTER TABLE "__new_${name}" RENAME TO "${name}"`);
    }
    for (const statement of statements)
      if (/^CREATE (UNIQUE )?INDEX/.test(statement)) database.exec(statement);
  })();
  database.close();
}
