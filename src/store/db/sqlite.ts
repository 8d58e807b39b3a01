/**
 * SQLite's driver, in the release that this Node.js can use. better-sqlite3 13 needs Node.js 22. Release 12, built for
 * Node.js 24.19 or later, aborts the process when its objects are collected as garbage.
 */

import { createRequire } from 'node:module';
import type BetterSqlite3 from 'better-sqlite3';

const FIRST_WITH_13 = 22;
const major = Number.parseInt(process.versions.node, 10);
const driver = major < FIRST_WITH_13 ? 'better-sqlite3' : 'better-sqlite3-13';

export const Database = createRequire(import.meta.url)(driver) as typeof BetterSqlite3;
export type Database = BetterSqlite3.Database;
