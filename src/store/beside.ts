/** The store's door for databases that lie beside the mirror: opened, locked and spoken of as the mirror is. */

export { relaxed } from './db/commits.ts';
export { type Connection, forgetPages, openConnection } from './db/connection.ts';
export { guarded, guardedAll } from './db/failure.ts';
export { watchFiles } from './db/identity.ts';
export { isLock, tryLock } from './db/lock.ts';
