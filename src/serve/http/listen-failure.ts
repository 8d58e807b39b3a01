/** Why a port cannot be listened on, and what to do about it. */

import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { Failure, toError } from '../../errors.ts';

export function listenFailure(thrown: unknown, { host, port }: { host: string; port: number }): Failure {
  const { code, message } = toError(thrown) as NodeJS.ErrnoException;
  const where = `${host}, port ${port}`;
  switch (code) {
    case 'EADDRINUSE': {
      // On another address of the machine the same port may be another's.
      const holders = holdersOfPort(port).map(({ pid, command }) => `process ${pid} (${command})`);
      const by = holders.length > 0 ? holders.join(' or ') : 'a process that this user cannot see';
      return new Failure('incomplete', `${where}: in use by ${by}; end it, or listen on another port`);
    }
    case 'EACCES':
    case 'EPERM':
      return new Failure(
        'config',
        `${where}: this user may not listen there; take a port above 1023, or give the right (CAP_NET_BIND_SERVICE)`,
      );
    case 'EADDRNOTAVAIL':
      return new Failure(
        'config',
        `${where}: this machine has no such address; ip address lists those it has`,
      );
    case 'ENOTFOUND':
    case 'EAI_AGAIN':
      return new Failure(
        'config',
        `${where}: no such name is known (${code}); give an address of this machine`,
      );
    default:
      return new Failure('incomplete', `${where}: cannot be listened on (${code ?? message})`, {
        cause: thrown,
      });
  }
}

type Holder = { readonly pid: number; readonly command: string };

/** The state of a socket that listens, in the tables of the kernel. */
const LISTENS = '0A';

/** The processes that listen on a port, as far as Linux lets this user see: none of other users. */
function holdersOfPort(port: number): Holder[] {
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
