/** Questions of `/mirror/v1`, with everything on, beside a bare `node:http` with better-sqlite3 and the same SQL. */

import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { listJobs } from '../../../src/job-list.ts';
import { isHeldColumn } from '../../../src/reading/columns.ts';
import { epochOf, writePosition } from '../../../src/serve/query/changes.ts';
import { parseRequest } from '../../../src/serve/query/parse.ts';
import {
  columnsOf,
  columnsSql,
  type ListJob,
  pastRows,
  presentRows,
  rowsSql,
  type Sql,
} from '../../../src/serve/query/sql.ts';
import { openMirror } from '../../../src/store/read.ts';
import { atLeast, median, type Table, targetHeads } from '../../figures.ts';
import { type Load, load, quantile, type Server, startBareSql } from './load.ts';

const CONNECTIONS = 10;
const SECONDS = 3;
const WARM_UP = 2_000;
const KEYS = 200;
const TARGET = 0.5;

type Line = { about: string; paths: readonly string[]; sql: Record<string, Sql> };

export async function measureQuestions(
  serve: Server,
  folder: string,
  key: string,
  runs: number,
): Promise<Table> {
  const lines = await linesOf(folder, key, serve.url);
  const rows: string[][] = [];
  for (const { about, paths, sql } of lines) {
    const file = join(folder, 'questions.json');
    writeFileSync(file, JSON.stringify(sql));
    const bare = await startBareSql(join(folder, 'mirror.db'), file);
    try {
      let turn = 0;
      const next = () => ({ path: paths[turn++ % paths.length] ?? '', key });
      const measure = (server: Server, length: object) =>
        load(server, { connections: CONNECTIONS, ...length }, '2xx', next);
      await measure(bare, { amount: WARM_UP });
      await measure(serve, { amount: WARM_UP });
      const pairs: [bare: Load, ours: Load][] = [];
      for (let run = 0; run < runs; run += 1)
        pairs.push([await measure(bare, { seconds: SECONDS }), await measure(serve, { seconds: SECONDS })]);
      const ratio = median(pairs.map(([bare, ours]) => ours.perSecond / bare.perSecond));
      const figure = (of: (load: Load) => number, side: 0 | 1) => median(pairs.map((pair) => of(pair[side])));
      rows.push([
        about,
        figure(({ perSecond }) => perSecond, 0).toFixed(0),
        figure(({ perSecond }) => perSecond, 1).toFixed(0),
        figure(({ took }) => quantile(took, 0.5), 1).toFixed(2),
        ratio.toFixed(2),
        ...atLeast(ratio, TARGET),
      ]);
    } finally {
      await bare.end();
    }
  }
  return {
    about: `questions of /mirror/v1 by ${CONNECTIONS} connections beside a bare server of the same SQL, medians of ${runs} interleaved runs of ${SECONDS} s`,
    heads: ['', 'bare, answers/s', 'serve', 'median ms', 'ratio', ...targetHeads],
    rows,
  };
}

async function linesOf(folder: string, key: string, url: string): Promise<Line[]> {
  const connection = openMirror(folder);
  try {
    const job = (await listJobs()).find(({ name }) => name === 'news') as ListJob;
    const columns = columnsOf(connection, job, job.table);
    const keys = connection
      .prepare<[number], string>('SELECT _key FROM news ORDER BY random() LIMIT ?')
      .pluck()
      .all(KEYS);
    const rowsFor = (query: string, limit: number) =>
      rowsSql(presentRows(job, columns), parseRequest(new URLSearchParams(query), 0), limit).rows;
    const one = Object.fromEntries(
      keys.map((each) => [`/mirror/v1/news/${each}`, rowsFor(`_key=eq.${encodeURIComponent(each)}`, 1)]),
    );
    const filtered = ['policy', 'markets', 'companies'].map(
      (category) => `category=eq.${category}&limit=100`,
    );
    const some = Object.fromEntries(
      filtered.map((query) => [`/mirror/v1/news?${query}`, rowsFor(query, 100)]),
    );
    // The feed as who begins a copy reads it: a page of inserts behind some key.
    const feed = { columns: columns.filter(({ name }) => !isHeldColumn(name)) };
    const first = await fetch(`${url}/mirror/v1/changes?limit=1`, {
      headers: { authorization: `Bearer ${key}` },
    });
    const [, datasets, seq] = JSON.parse(
      Buffer.from(((await first.json()) as { next: string }).next, 'base64url').toString(),
    ) as [string, string, number];
    const shown = columnsSql(feed);
    const past = pastRows(job, feed.columns, new Date(seq).toISOString());
    const pages = Object.fromEntries(
      keys.map((each) => {
        const since = writePosition(
          { epoch: epochOf(connection), datasets },
          { seq, dataset: job.table, key: each },
        );
        const sql = `SELECT "_key", "_changed_at", ${shown.sql} FROM ${past.from} WHERE "_key" > :key ORDER BY "_key" LIMIT 100`;
        return [
          `/mirror/v1/changes?since=${since}`,
          { sql, params: { ...shown.params, ...past.params, key: each } },
        ];
      }),
    );
    const lineOf = (about: string, sql: Record<string, Sql>): Line => ({
      about,
      paths: Object.keys(sql),
      sql,
    });
    return [
      lineOf('one row by key', one),
      lineOf('100 rows by a filter on a discovered column', some),
      lineOf('the change feed, 100 changes', pages),
    ];
  } finally {
    connection.close();
  }
}
