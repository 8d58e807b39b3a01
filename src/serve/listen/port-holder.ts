/** Which process listens on a port, as far as Linux lets this user see. */

import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

export type Holder = { readonly pid: number; readonly command: string };

/** The state of a socket that listens, in the tables of the kernel. */
const LISTENS = '0A';

/** Undefined where there is none to be seen: processes of other users keep their sockets to themselves. */
export function holderOfPort(port: number): Holder | undefined {
  const sockets = new Set(['tcp', 'tcp6'].flatMap((table) => listenersIn(`/proc/net/${table}`, port)));
  if (sockets.size === 0) return undefined;
  const pid = orNone(() => readdirSync('/proc'))
    .filter((name) => /^\d+$/.test(name))
    .find((process) => socketsOf(process).some((socket) => sockets.has(socket)));
  if (pid === undefined) return undefined;
  const [command = ''] = orNone(() => [readFileSync(`/proc/${pid}/comm`, 'utf8').trim()]);
  return { pid: Number(pid), command };
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

function orNone(read: () => string[]): string[] {
  try {
    return read();
  } catch {
    return [];
  }
}
