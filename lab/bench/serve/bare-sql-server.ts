/** `bare-sql-server.ts <port> <mirror.db> <file>`: answers each path of the file with the rows of its SQL, as JSON. */

import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import Database from 'better-sqlite3';
import type { Sql } from '../../../src/serve/query/sql.ts';

const [port, mirror = '', file = ''] = process.argv.slice(2);
const database = new Database(mirror, { readonly: true });
const questions = new Map(Object.entries(JSON.parse(readFileSync(file, 'utf8')) as Record<string, Sql>));
const statements = new Map([...questions.values()].map(({ sql }) => [sql, database.prepare(sql)]));

createServer((request, response) => {
  const { sql, params } = questions.get(request.url ?? '') ?? { sql: '', params: {} };
  const body = Buffer.from(JSON.stringify(statements.get(sql)?.all(params) ?? []));
  response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': body.length }).end(body);
}).listen(Number(port), '127.0.0.1');
