/**
 * SQLite's driver. better-sqlite3 13 needs Node.js 22; release 12 aborts the process under Node.js 24.19 or later when its objects
 * are collected as garbage.
 */

import { createRequire } from 'node:module';
import type BetterSqlite3 from 'better-sqlite3';

const FIRST_WITH_13 = 22;
const major = Number.parseInt(process.versions.node, 10);
const driver = major < FIRST_WITH_13 ? 'better-sqlite3' : 'better-sqlite3-13';
const require = createRequire(import.meta.url);
const load = () => require(driver) as typeof BetterSqlite3;

/** Loaded when it is first used, which many commands never do. */
export const Database = new Proxy(class {} as unknown as typeof BetterSqlite3, {
  construct: (_, args: ConstructorParameters<typeof BetterSqlite3>) => new (load())(...args),
  get: (_, name) => Reflect.get(load(), name),
});
export type Database = BetterSqlite3.Database;
