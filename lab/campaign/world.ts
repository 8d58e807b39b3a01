/** The world of the campaign: the API, the built program as a daemon and on the command line, a disk, a Redis. */

import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { loadJobs } from '../../src/job/load.ts';
import { openReadOnly } from '../../src/store/connection.ts';
import { type Ended, startCli } from '../../test/helpers/cli.ts';
import { freePort } from '../../test/helpers/loopback.ts';
import { type Disk, openDisk } from './world/disk.ts';
import { processesIn, signal } from './world/processes.ts';
import { type Daemon, keepDaemon, keepProgram, type Program } from './world/programs.ts';
import { type Forms, formOf, startUpstream, type Upstream } from './world/upstream.ts';

export type World = {
  folder: string;
  mirrorDir: string;
  database: string;
  /** Temporary files of the program and of the attacks. */
  scratch: string;
  /** Where programs that are run here would leave their core dumps. */
  work: string;
  log: string;
  key: string;
  upstream: Upstream;
  daemon: Daemon;
  /** `market-mirror serve` on the mirror of the daemon. */
  serve: Program;
  serveUrl: string;
  disk: Disk;
  /** Settings and variables of every process from its next start on, beside the usual ones. */
  extra: Record<string, string>;
  cli(...args: string[]): Promise<Ended>;
  sql<Found = Record<string, unknown>>(query: string, ...values: (string | number)[]): Found[];
  /** What the mirror shows of a job, by key. */
  shown(job: string): Forms;
  /** Leaves no process, no mount and no file. */
  close(): Promise<void>;
};

const SCHEDULE = 'every 1s';

export async function openWorld(seed: number): Promise<World> {
  const jobs = await loadJobs();
  const folder = mkdtempSync(join(tmpdir(), 'campaign-'));
  const [scratch, work] = [join(folder, 'scratch'), join(folder, 'work')];
  for (const made of [scratch, work]) mkdirSync(made);
  const disk = openDisk(join(folder, 'disk'));
  const mirrorDir = join(disk.folder, 'mirror');
  const database = join(mirrorDir, 'mirror.db');
  const key = `canary-key-${seed.toString(16)}-6f1c0b`;
  const upstream = await startUpstream(jobs, { key, seed });
  const schedules = jobs.map(({ name }) => [
    `MIRROR_SCHEDULE_${name.replaceAll('-', '_').toUpperCase()}`,
    SCHEDULE,
  ]);
  const servePort = String(await freePort());
  const usual: Record<string, string> = {
    PATH: process.env['PATH'] ?? '',
    HOME: work,
    TMPDIR: scratch,
    MARKET_API_URL: upstream.url,
    MARKET_API_KEY: key,
    MIRROR_DIR: mirrorDir,
    MIRROR_SERVE_QUERY: 'on',
    MIRROR_ON_CHANGE: `echo "$CHANGE_JOB" >> '${join(folder, 'changes')}'`,
    ...Object.fromEntries(schedules),
  };
  const extra: Record<string, string> = {};
  const environment = () => ({ ...usual, ...extra });
  const log = join(folder, 'daemon.log');
  const daemon = keepDaemon({ folder: work, mirrorDir, environment, log });
  const hear = () => undefined;
  const serve = keepProgram(['serve', '--port', servePort], { folder: work, environment, hear });

  const world: World = {
    folder,
    mirrorDir,
    database,
    scratch,
    work,
    log,
    key,
    upstream,
    daemon,
    serve,
    serveUrl: `http://127.0.0.1:${servePort}`,
    disk,
    extra,
    cli: (...args) => startCli(args, environment(), work).ended,
    sql<Found>(query: string, ...values: (string | number)[]) {
      const connection = openReadOnly(database);
      try {
        return connection.prepare<unknown[], Found>(query).all(...values);
      } finally {
        connection.close();
      }
    },
    shown(name) {
      const job = jobs.find((known) => known.name === name);
      if (!job) throw new Error(`there is no job ${name}`);
      const rows = world.sql(`SELECT * FROM "${tableOf(name)}"`);
      return new Map(rows.map((row) => [String(row['_key']), formOf(job, row)]));
    },
    async close() {
      await Promise.all([daemon.end(), serve.end()]);
      await upstream.close();
      for (const { pid } of processesIn(folder)) signal(pid, 'SIGKILL');
      disk.remove();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return world;
}

export const tableOf = (job: string) => job.replaceAll('-', '_');
