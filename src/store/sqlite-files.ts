/** The store's door for databases that lie beside the mirror: opened, locked and watched as it is, with errors in the same words. */

export { relaxed } from './commits.ts';
export { type Connection, forgetPages, openConnection, openReadOnly } from './connection.ts';
export { guarded, guardedAll } from './failure.ts';
export { watchFiles } from './identity.ts';
export { isLock, tryLock } from './lock.ts';
