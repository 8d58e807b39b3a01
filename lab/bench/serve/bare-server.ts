/** `bare-server.ts <port> <file>`: answers everything with the bytes of the file. */

import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';

const [port, file = ''] = process.argv.slice(2);
const body = readFileSync(file);
const headers = { 'Content-Type': 'application/json', 'Content-Length': body.length };

createServer((_, response) => void response.writeHead(200, headers).end(body)).listen(
  Number(port),
  '127.0.0.1',
);
