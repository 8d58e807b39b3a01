/** The store's door for databases that lie beside the mirror: opened, locked and spoken of as the mirror is. */

export { relaxed } from './commits.ts';
export { type Connection, forgetPages, openConnection, openReadOnly } from './connection.ts';
export { guarded, guardedAll } from './failure.ts';
export { watchFiles } from './identity.ts';
export { isLock, tryLock } from './lock.ts';
