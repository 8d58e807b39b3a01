/** A mirror of many rows without a walk over them: those of a small one again and again, each time by other ids. */

import { join } from 'node:path';
import { seededRandom } from '../../../model-api/index.ts';
import { uuid } from '../../../model-api/random.ts';
import { quoted } from '../../../src/store/read.ts';
import { Database } from '../../../src/store/sqlite.ts';
import { measurePass, withFolder, withLargeApi } from '../../passes.ts';

const SAMPLES = 1_000;

type Values = Record<string, string | number | null>;

/** Of so many rows of `ai-signals` and as many of `news`. @param learnt see `measurePass`. */
export async function withGrownMirror<T>(
  rows: number,
  learnt: string,
  use: (folder: string) => Promise<T>,
): Promise<T> {
  return await withLargeApi(Math.min(rows, SAMPLES), (api) =>
    withFolder(async (folder) => {
      for (const job of ['ai-signals', 'news']) await measurePass(job, api, folder, learnt);
      if (rows > SAMPLES) grow(join(folder, 'mirror.db'), rows);
      return await use(folder);
    }),
  );
}

function grow(file: string, rows: number): void {
  const mirror = new Database(file);
  const random = seededRandom(2);
  const all = (table: string, columns = '*') =>
    mirror.prepare<[], Values>(`SELECT ${columns} FROM ${quoted(table)} ORDER BY rowid`).all();
  try {
    mirror.exec('BEGIN IMMEDIATE');
    const signals = all('ai_signals_rows');
    const aging = all('ai_signals_volatile');
    // All others are taken out of the body.
    const news = all('news', '_body, _key, _first_seen_at, _changed_at, _walk_id');
    const insert = (table: string, like: Values = {}) => {
      const names = Object.keys(like);
      const list = names.map(quoted).join(', ');
      const statement = mirror.prepare<[Values]>(
        `INSERT INTO ${quoted(table)} (${list}) VALUES (${names.map((name) => `@${name}`).join(', ')})`,
      );
      return (values: Values) => statement.run(values).lastInsertRowid;
    };
    const insertSignal = insert('ai_signals_rows', signals[0]);
    const insertAging = insert('ai_signals_volatile', aging[0]);
    const insertItem = insert('news', news[0]);
    for (let made = SAMPLES; made < rows; made += 1) {
      const id = uuid(random);
      const _number = Number(insertSignal({ ...signals[made % SAMPLES], id, _key: id }));
      insertAging({ ...aging[made % SAMPLES], _number });
      const item = news[made % SAMPLES] as Values;
      const body = String(item['_body']).replace(String(item['_key']), id);
      insertItem({ ...item, _key: id, _body: body });
    }
    mirror.exec('COMMIT');
  } finally {
    mirror.close();
  }
}
