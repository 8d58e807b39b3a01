/** The store's door for other databases beside the mirror: opened, locked and watched in the same way. */

export { type Connection, forgetPages, openConnection, openReadOnly } from './connection.ts';
export { guarded, guardedAll } from './failure.ts';
export { watchFiles } from './identity.ts';
export { describeHolder, isLock, tryLock } from './lock.ts';
