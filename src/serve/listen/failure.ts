/** Why a port cannot be listened on, and what to do about it. */

import { Failure, toError } from '../../errors.ts';
import { holdersOfPort } from './port-holder.ts';

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
