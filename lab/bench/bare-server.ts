/** `bare-server.ts <port> <file>`: answers with the bytes of the file. */

import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';

const [port, file = ''] = process.argv.slice(2);
const body = readFileSync(file);

createServer((_, response) => {
  response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': body.length }).end(body);
}).listen(Number(port), '127.0.0.1');
