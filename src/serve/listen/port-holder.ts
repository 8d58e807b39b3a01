/** Which processes listen on a port, as far as Linux lets this user see. */

import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

export type Holder = { readonly pid: number; readonly command: string };

/** The state of a socket that listens, in the tables of the kernel. */
const LISTENS = '0A';

/** None where none is to be seen: processes of other users keep their sockets to themselves. */
export function holdersOfPort(port: number): Holder[] {
  const sockets = new Set(['tcp', 'tcp6'].flatMap((table) => listenersIn(`/proc/net/${table}`, port)));
  if (sockets.size === 0) return [];
  return orNone(() => readdirSync('/proc'))
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => socketsOf(pid).some((socket) => sockets.has(socket)))
    .map((pid) => ({ pid: Number(pid), command: commandOf(pid) }));
}

/** As links to them look: `socket:[12345]`. */
function listenersIn(table: string, port: number): string[] {
  const [, ...lines] = orNone(() => readFileSync(table, 'utf8').trim().split('\n'));
  return lines.flatMap((line) => {
    const [, local = '', , state, , , , , , inode] = line.trim().split(/\s+/);
    const isIt = state === LISTENS && Number.parseInt(local.split(':').at(-1) ?? '', 16) === port;
    return isIt ? [`socket:[${inode}]`] : [];
  });
}

function socketsOf(pid: string): string[] {
  const folder = `/proc/${pid}/fd`;
  return orNone(() => readdirSync(folder)).flatMap((fd) => orNone(() => [readlinkSync(`${folder}/${fd}`)]));
}

function commandOf(pid: string): string {
  const [command = 'gone'] = orNone(() => [readFileSync(`/proc/${pid}/comm`, 'utf8').trim()]);
  return command;
}

function orNone(read: () => string[]): string[] {
  try {
    return read();
  } catch {
    return [];
  }
}
