/** The log: JSON lines on stderr, or readable ones on a terminal. */

import { type DestinationStream, destination, type Logger, type LoggerOptions, pino, symbols } from 'pino';
import pretty from 'pino-pretty';
import { printable, printableLines } from './printable.ts';

export type Log = Logger;

/** Of lines that cannot be written yet. */
const MAX_KEPT_BYTES = 1_000_000;

export function createLog(level: string, onTerminal: boolean): Log {
  const options = logOptions(level);
  return onTerminal
    ? pino(
        options,
        pretty({ destination: 2, sync: true, translateTime: 'SYS:HH:MM:ss', ignore: 'pid,hostname' }),
      )
    : pino({ ...options, timestamp: pino.stdTimeFunctions.isoTime }, openStderr());
}

/** A log that cannot be written, as on a full disk, ends nothing: the newest lines wait, and the rest is dropped. */
function openStderr() {
  return destination({ fd: 2, sync: true, maxLength: MAX_KEPT_BYTES }).on('error', () => undefined);
}

/** Messages and fields may hold text of others, which a terminal must not obey. */
export function logOptions(level: string): LoggerOptions {
  return {
    level,
    base: null,
    redact: ['headers', '*.authorization'],
    hooks: {
      logMethod(given, method) {
        return method.apply(this, given.map(safe) as Parameters<typeof method>);
      },
    },
  };
}

/**
 * @returns what logs plain values with the same message, often. pino takes several times as long for a line, and a write for each:
 * here the lines of one turn of the event loop are written together.
 */
export function repeatedly(log: Log, message: string): (fields: object) => void {
  if (!log.isLevelEnabled('info')) return () => undefined;
  const { [symbols.streamSym]: stream, [symbols.timeSym]: time } = log as Log & Inside;
  const head = `{"level":${log.levels.values['info']}`;
  let lines = '';
  const write = () => {
    stream.write(lines);
    lines = '';
  };
  return (fields) => {
    if (lines === '') setImmediate(write);
    const line = { ...fields, msg: message };
    const json = JSON.stringify(line);
    const safeJson = printable(json) === json ? json : JSON.stringify(safe(line));
    lines += `${head}${time()},${safeJson.slice(1)}\n`;
  };
}

/** Where it writes, and what makes the member `time`, with a comma before it. */
type Inside = { readonly [symbols.streamSym]: DestinationStream; readonly [symbols.timeSym]: () => string };

function safe(value: unknown): unknown {
  if (typeof value === 'string') return printableLines(value);
  if (value === null || typeof value !== 'object' || value instanceof Error) return value;
  return Array.isArray(value)
    ? value.map(safe)
    : Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, safe(inner)]));
}
