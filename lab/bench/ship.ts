/** `npm run bench -- ship`: the built program ships to a Postgres with its usual settings, beside plain COPY of the same rows. */

import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import pg from 'pg';
import { seededRandom } from '../../model-api/index.ts';
import { uuid } from '../../model-api/random.ts';
import { isoTime } from '../../src/base/clock.ts';
import { quoted } from '../../src/store/read.ts';
import { Database } from '../../src/store/sqlite.ts';
import {
  addressOf,
  type PostgresServer,
  postgresProgram,
  startPostgres,
} from '../../test/helpers/postgres-server.ts';
import { atLeast, atMost, judgeTable, median, type Table, targetHeads } from '../figures.ts';
import { cli, type Measured, type MeasuredMirror, measureNode, measurePass, withMirror } from '../passes.ts';
import { readBenchOptions } from './lines.ts';

/** A walk takes long where others are measured in moments. */
const MOST_WALKED = 30_000;
const SAMPLES = 1_000;
const SCHEMA = 'market_mirror';
const tables = ['_ai_signals_rows', '_ai_signals_volatile', 'news'];

async function bench(): Promise<void> {
  const { runs, rows } = readBenchOptions();
  await withGrownMirror(rows, (folder) =>
    withShipping(folder, async (shipping) => {
      process.stdout.write(`${rows.toLocaleString('en-US')} rows each of ai-signals and news\n`);
      judgeTable(await measureFirstLoad(shipping, runs));
      judgeTable(await measureChanges(shipping, rows, runs));
      judgeTable(await measureMemory(shipping, folder, rows));
    }),
  );
  await withMirror(Math.min(rows, MOST_WALKED), (mirror) =>
    withShipping(mirror.folder, async (shipping) => judgeTable(await measureWalks(shipping, mirror, runs))),
  );
}

/** Changes after the first load: rows that got another value, each with the version that it had before. */
async function measureChanges({ folder, ship }: Shipping, rows: number, runs: number): Promise<Table> {
  const taken: number[] = [];
  const idle: number[] = [];
  for (let run = 0; run < runs; run += 1) {
    idle.push((await ship()).seconds);
    change(folder, Date.now());
    taken.push((await ship()).seconds);
  }
  // What a command takes to start, connect and look is not of the changes: the daemon's thread has that behind it.
  const work = taken.map((seconds, run) => seconds - (idle[run] ?? 0));
  const perSecond = rows / median(work);
  return {
    about: `${rows.toLocaleString('en-US')} changed rows of ai-signals, and a version of each, medians of ${runs} runs`,
    heads: ['', 's', 'nothing new, s', 'changes/s between', ...targetHeads],
    rows: [
      [
        'ship',
        median(taken).toFixed(2),
        median(idle).toFixed(2),
        perSecond.toFixed(0),
        ...atLeast(perSecond, 10_000),
      ],
    ],
  };
}

/** As a walk would: every row gets another status. */
function change(folder: string, at: number): void {
  const mirror = new Database(join(folder, 'mirror.db'));
  try {
    mirror.exec(`BEGIN IMMEDIATE;
      UPDATE _ai_signals_rows SET status = 'at ${at}', _changed_at = '${isoTime(at)}';
      UPDATE _datasets SET last_seq = ${at} WHERE job = 'ai-signals';
      UPDATE walks SET last_seq = ${at} WHERE id = (SELECT max(id) FROM walks WHERE job = 'ai-signals');
      COMMIT`);
  } finally {
    mirror.close();
  }
}

/** A first load of everything, beside plain COPY of the very lines that it sends into the same tables. */
async function measureFirstLoad({ server, query, ship, psql }: Shipping, runs: number): Promise<Table> {
  await ship();
  await query('CREATE SCHEMA plain');
  const file = (table: string) => `${server.folder}/${table}.copy`;
  for (const table of tables) {
    psql(`\\copy ${SCHEMA}.${table} TO '${file(table)}'`);
    await query(`CREATE TABLE plain.${table} (LIKE ${table} INCLUDING ALL)`);
  }
  const [{ rows = '0' } = {}] = await query<{ rows: string }>(
    'SELECT (SELECT count(*) FROM ai_signals) + (SELECT count(*) FROM news) AS rows',
  );
  const plain: number[] = [];
  const shipped: number[] = [];
  for (let run = 0; run < runs; run += 1) {
    await query(`TRUNCATE ${tables.map((table) => `plain.${table}`).join(', ')}`);
    await query(`DROP SCHEMA ${SCHEMA} CASCADE`);
    await query('CHECKPOINT');
    plain.push(psql(...tables.map((table) => `\\copy plain.${table} FROM '${file(table)}'`)));
    await query('CHECKPOINT');
    shipped.push((await ship()).seconds);
  }
  await query('DROP SCHEMA plain CASCADE');
  const ratio = median(plain.map((seconds, run) => seconds / (shipped[run] ?? Number.NaN)));
  const perSecond = (seconds: readonly number[]) => (Number(rows) / median(seconds)).toFixed(0);
  return {
    about: `a first load of ${Number(rows).toLocaleString('en-US')} rows, beside psql with \\copy of the same lines, medians of ${runs} interleaved runs`,
    heads: ['', 's', 'rows/s', 'ratio', ...targetHeads],
    rows: [
      ['plain COPY', median(plain).toFixed(2), perSecond(plain), '', '', ''],
      [
        'ship',
        median(shipped).toFixed(2),
        perSecond(shipped),
        ratio.toFixed(2),
        ...atLeast(Number(ratio.toFixed(2)), 0.6),
      ],
    ],
  };
}

type Values = Record<string, string | number | null>;

/** A mirror of so many rows of each dataset without a walk over them: those of a small one again and again, by other ids. */
async function withGrownMirror<T>(rows: number, use: (folder: string) => Promise<T>): Promise<T> {
  return await withMirror(Math.min(rows, SAMPLES), async ({ folder }) => {
    if (rows > SAMPLES) grow(join(folder, 'mirror.db'), rows);
    return await use(folder);
  });
}

function grow(file: string, rows: number): void {
  const mirror = new Database(file);
  const random = seededRandom(2);
  const all = (table: string, columns = '*') =>
    mirror.prepare<[], Values>(`SELECT ${columns} FROM ${quoted(table)} ORDER BY rowid`).all();
  try {
    mirror.exec('BEGIN IMMEDIATE');
    const signals = all('_ai_signals_rows').map(({ number: _, ...signal }) => signal as Values);
    const volatile = all('_ai_signals_volatile');
    // All others are taken out of the body.
    const news = all('_news_rows', '_body, _key, _first_seen_at, _changed_at, _walk_id');
    const insert = (table: string, like: Values = {}) => {
      const names = Object.keys(like);
      const list = names.map(quoted).join(', ');
      const statement = mirror.prepare<[Values]>(
        `INSERT INTO ${quoted(table)} (${list}) VALUES (${names.map((name) => `@${name}`).join(', ')})`,
      );
      return (values: Values) => statement.run(values).lastInsertRowid;
    };
    const insertSignal = insert('_ai_signals_rows', signals[0]);
    const insertVolatile = insert('_ai_signals_volatile', volatile[0]);
    const insertItem = insert('_news_rows', news[0]);
    for (let made = SAMPLES; made < rows; made += 1) {
      const id = uuid(random);
      const number = Number(insertSignal({ ...signals[made % SAMPLES], id, _key: id }));
      insertVolatile({ ...volatile[made % SAMPLES], number });
      const item = news[made % SAMPLES] as Values;
      const body = String(item['_body']).replace(String(item['_key']), id);
      insertItem({ ...item, _key: id, _body: body });
    }
    mirror.exec('COMMIT');
  } finally {
    mirror.close();
  }
}

/** Peak memory of a first load, of more and more rows. @param folder a mirror of so many. */
async function measureMemory({ query, ship }: Shipping, folder: string, rows: number): Promise<Table> {
  const peakOf = async (dir: string) => {
    await query(`DROP SCHEMA IF EXISTS ${SCHEMA} CASCADE`);
    return (await ship(dir)).peakMb;
  };
  const parts = [rows / 100, rows / 10].map(Math.round);
  const peaks: number[] = [];
  for (const part of parts) peaks.push(await withGrownMirror(part, peakOf));
  peaks.push(await peakOf(folder));
  // By a tenth of the rows all that is made once has been made.
  const [, least = 0, most = 0] = peaks;
  return {
    about: 'peak memory of a first load, MB, by rows of each dataset',
    heads: ['', ...[...parts, rows].map((count) => count.toLocaleString('en-US')), 'more', ...targetHeads],
    rows: [
      [
        'ship',
        ...peaks.map((peak) => peak.toFixed(0)),
        (most - least).toFixed(0),
        ...atMost(most - least, 30),
      ],
    ],
  };
}

type Shipping = {
  /** The folder of the mirror. */
  folder: string;
  server: PostgresServer;
  /** Asks Postgres in the schema of the mirror. */
  query<Row extends object>(sql: string): Promise<Row[]>;
  /** `market-mirror ship` of both datasets. @param dir of another mirror. */
  ship(dir?: string): Promise<Measured>;
  /** Seconds that `psql` takes for some of its commands. */
  psql(...commands: string[]): number;
};

async function withShipping<T>(folder: string, use: (shipping: Shipping) => Promise<T>): Promise<T> {
  // With the usual settings of Postgres, so that its log and its fsync are measured, too.
  const server = startPostgres([]);
  const client = new pg.Client({ host: server.folder, user: 'postgres', database: 'postgres' });
  try {
    await client.connect();
    await client.query(`SET search_path = ${SCHEMA}`);
    const address = addressOf(server.folder, 'postgres');
    return await use({
      folder,
      server,
      query: async (sql) => (await client.query(sql)).rows,
      ship: (dir = folder) =>
        measureNode([cli(), 'ship', 'ai-signals', 'news'], {
          MIRROR_DIR: dir,
          MIRROR_SHIP: `${address}&schema=${SCHEMA}`,
        }),
      psql(...commands) {
        const began = performance.now();
        const { status, stderr } = spawnSync(
          postgresProgram('psql'),
          ['-X', '-q', '-h', server.folder, '-U', 'postgres', ...commands.flatMap((one) => ['-c', one])],
          { encoding: 'utf8' },
        );
        if (status !== 0) throw new Error(stderr);
        return (performance.now() - began) / 1_000;
      },
    });
  } finally {
    await client.end();
    server.stop();
  }
}

/** Walks of ai-signals in which every volatile value moved, alone and while the walk before is shipped, as by the daemon. */
async function measureWalks(
  { ship }: Shipping,
  { folder, api, learnt }: MeasuredMirror,
  runs: number,
): Promise<Table> {
  const publish = () => fetch(`${api}/publish?aged`);
  const walk = async () => (await measurePass('ai-signals', api, folder, learnt)).rowsPerSecond;
  const [alone, beside]: [number[], number[]] = [[], []];
  await ship();
  for (let run = 0; run < runs; run += 1) {
    await publish();
    alone.push(await walk());
    await publish();
    const [perSecond] = await Promise.all([walk(), ship()]);
    beside.push(perSecond);
  }
  const ratio = median(beside.map((perSecond, run) => perSecond / (alone[run] ?? Number.NaN)));
  const figures = [median(alone).toFixed(0), median(beside).toFixed(0), ratio.toFixed(2)];
  return {
    about: `walks in which every volatile value moved, while those before are shipped, medians of ${runs} interleaved runs`,
    heads: ['', 'rows/s alone', 'rows/s beside', 'ratio', ...targetHeads],
    rows: [['walk', ...figures, ...atLeast(ratio, 0.9)]],
  };
}

await bench();
