/** Names of processes that share something, on whatever machines and in whatever containers they are. */

import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import type { Random } from './clock.ts';

/**
 * A name that no other process has: host, number, who gave the number, when the process started, and a part by chance. Machines
 * may be named alike, in containers many a process has the number 1, and numbers are given again.
 */
export function nameProcess(random: Random): string {
  const { pid } = process;
  const chance = random().toString(36).slice(2, 10);
  return [hostname(), pid, NUMBERING, statOf(pid)?.started, chance].join(':');
}

/** Whether the process is known to have ended. Of processes of other machines and containers nothing is known here. */
export function hasEnded(name: string): boolean {
  const [, pid, numbering, started] = name.split(':');
  if (numbering === '' || numbering !== NUMBERING) return false;
  if (!isAlive(Number(pid))) return true;
  // Of what other users run, some machines show nothing.
  const stat = statOf(Number(pid));
  return stat !== null && (stat.hasEnded || stat.started !== started);
}

/** Tells those apart that number their processes by themselves: machines since they started, and containers. Empty off Linux. */
const NUMBERING = numbering();

function numbering(): string {
  try {
    const machine = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').slice(0, 8);
    return `${machine}-${readlinkSync('/proc/self/ns/pid').replaceAll(/\D/g, '')}`;
  } catch {
    return '';
  }
}

/** When the process started, in ticks since the machine did; whether it has ended and its parent did not look yet. */
function statOf(pid: number): { started: string; hasEnded: boolean } | null {
  try {
    // Before the fields, in brackets, stands the name of the program, which may hold anything.
    const [, fields = ''] = /^.*\) (.*)$/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
    const [state = '', started = ''] = [0, 19].map((at) => fields.split(' ')[at]);
    return { started, hasEnded: /[ZX]/.test(state) };
  } catch {
    return null;
  }
}

/**
 * Whether a process of this machine lives. A process of another user does, though it takes no signals from here; what is no
 * number of a process does not.
 */
export function isAlive(pid: number): boolean {
  try {
    // 0 and less mean groups of processes.
    return pid > 0 && process.kill(pid, 0);
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'EPERM';
  }
}
