/** Whether a process of this machine lives. */

/** A process of another user does, though it takes no signals from here; what is no number of a process does not. */
export function isAlive(pid: number): boolean {
  try {
    // 0 and less mean groups of processes.
    return pid > 0 && process.kill(pid, 0);
  } catch (thrown) {
    return (thrown as NodeJS.ErrnoException).code === 'EPERM';
  }
}
