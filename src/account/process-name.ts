/** Names of processes that share an account, on whatever machines they are. */

import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import { isAlive } from '../alive.ts';
import type { Random } from '../clock.ts';

/** Like no other: machines may be named alike, and in containers many a process has the number 1. */
export function nameProcess(random: Random): string {
  return [hostname(), process.pid, numbering() ?? 'unknown', random().toString(36).slice(2, 10)].join(':');
}

/** Whether it is known here to have ended; of those of other machines it is not. */
export function hasEnded(name: string): boolean {
  const [, pid, theirs] = name.split(':');
  const ours = numbering();
  return ours !== null && theirs === ours && !isAlive(Number(pid));
}

/** Tells those apart that number their processes by themselves: machines since they started, and containers. */
function numbering(): string | null {
  try {
    const machine = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').slice(0, 8);
    return `${machine}-${readlinkSync('/proc/self/ns/pid').replaceAll(/\D/g, '')}`;
  } catch {
    return null;
  }
}
