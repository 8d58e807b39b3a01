/** Names of processes on several machines and in several containers. */

import { readFileSync, readlinkSync } from 'node:fs';
import { hostname } from 'node:os';
import type { Random } from './clock.ts';

/**
 * A unique name: host, pid, who gave the pid, when the process started, and a random part. Machines may have the same name, many a
 * container has a process 1, and pids are given again.
 */
export function nameProcess(random: Random): string {
  const { pid } = process;
  const chance = random().toString(36).slice(2, 10);
  return [hostname(), pid, NUMBERING, statOf(pid)?.started, chance].join(':');
}

/** Whether the process is known to have ended; of other machines and containers nothing is known. */
export function hasEnded(name: string): boolean {
  const [, pid, numbering, started] = name.split(':');
  if (numbering === '' || numbering !== NUMBERING) return false;
  if (!isAlive(Number(pid))) return true;
  // Some machines hide the processes of other users.
  const stat = statOf(Number(pid));
  return stat !== null && (stat.hasEnded || stat.started !== started);
}

/** Who gives pids: a machine since its start, or a container. Empty off Linux. */
const NUMBERING = numbering();

function numbering(): string {
  try {
    const machine = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').slice(0, 8);
    return `${machine}-${readlinkSync('/proc/self/ns/pid').replaceAll(/\D/g, '')}`;
  } catch {
    return '';
  }
}

/** When the process started, in ticks since the machine did; whether it has ended, but is not reaped yet. */
function statOf(pid: number): { started: string; hasEnded: boolean } | null {
  try {
    // The name of the program, in brackets before the fields, may hold anything.
    const [, fields = ''] = /^.*\) (.*)$/s.exec(readFileSync(`/proc/${pid}/stat`, 'utf8')) ?? [];
    const [state = '', started = ''] = [0, 19].map((at) => fields.split(' ')[at]);
    return { started, hasEnded: /[ZX]/.test(state) };
  } catch {
    return null;
  }
}

/** Whether a process of this machine lives. One of another user takes no signals, but lives. */
export function isAlive(pid: number): boolean {
  try {
    // 0 and less mean groups of processes.
    return pid > 0 && process.kill(pid, 0);
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'EPERM';
  }
}
