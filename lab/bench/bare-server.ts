/** `bare-server.ts <port> <file> [<mirror.db>]`: answers with the bytes of the file; with a mirror, by the SQL that the file has for a path. */

import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import Database from 'better-sqlite3';
import type { Sql } from '../../src/serve/answers/mirror-v1/sql.ts';

const [port, file = '', mirror] = process.argv.slice(2);
const answer = mirror === undefined ? bytesOf(file) : rowsOf(file, mirror);

createServer((request, response) => {
  const body = answer(request.url ?? '');
  response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': body.length }).end(body);
}).listen(Number(port), '127.0.0.1');

function bytesOf(file: string): () => Buffer {
  const body = readFileSync(file);
  return () => body;
}

function rowsOf(file: string, mirror: string): (path: string) => Buffer {
  const database = new Database(mirror, { readonly: true });
  const questions = JSON.parse(readFileSync(file, 'utf8')) as Record<string, Sql>;
  const texts = new Set(Object.values(questions).map(({ sql }) => sql));
  const statements = new Map([...texts].map((sql) => [sql, database.prepare(sql)]));
  return (path) => {
    const { sql, params } = questions[path] ?? { sql: '', params: {} };
    return Buffer.from(JSON.stringify(statements.get(sql)?.all(params) ?? []));
  };
}
