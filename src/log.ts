/** The log: JSON lines on stderr, or readable ones on a terminal. */

import { destination, type Logger, pino } from 'pino';
import pretty from 'pino-pretty';

export type Log = Logger;

export function createLog(level: string, onTerminal: boolean): Log {
  const options = { level, base: null, redact: ['headers', '*.authorization'] };
  return onTerminal
    ? pino(
        options,
        pretty({ destination: 2, sync: true, translateTime: 'SYS:HH:MM:ss', ignore: 'pid,hostname' }),
      )
    : pino({ ...options, timestamp: pino.stdTimeFunctions.isoTime }, destination({ fd: 2, sync: true }));
}
