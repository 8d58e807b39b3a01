import { spawn } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createLog } from '../../src/base/log.ts';
import { createPulse, systemdNotifier } from '../../src/daemon/systemd.ts';
import { temporaryFolder } from '../helpers/folder.ts';
import { needs } from '../helpers/tools.ts';
import { virtualClock } from '../helpers/virtual-clock.ts';

const KEY = 'canary-key-51d0aa';

/** A stand-in for systemd's program, which notes what it is told and with what environment. */
function standIn(settings: Record<string, string>, answerMs = 10_000) {
  const folder = temporaryFolder();
  const notes = join(folder, 'notes');
  writeFileSync(notes, '');
  const script = `#!/bin/sh
env >> '${notes}.env'
line=$(printf '%s|' "$@")
echo "$line" >> '${notes}'
[ -e '${notes}.hang' ] && exec sleep 60
exit 0
`;
  writeFileSync(join(folder, 'systemd-notify'), script, { mode: 0o755 });
  const environment = { PATH: `${folder}:${process.env['PATH']}`, MARKET_API_KEY: KEY, ...settings };
  const manager = systemdNotifier({ environment, log: createLog('silent', false), answerMs });
  onTestFinished(async () => {
    rmSync(`${notes}.hang`, { force: true });
    await manager.stopping();
  });
  return {
    manager,
    told: () => readFileSync(notes, 'utf8').split('\n').filter(Boolean),
    environment: () => readFileSync(`${notes}.env`, 'utf8'),
    hang: () => writeFileSync(`${notes}.hang`, ''),
  };
}

const underSystemd = { NOTIFY_SOCKET: '/run/systemd/notify', WATCHDOG_USEC: '200000' };

describe('systemd', () => {
  it('is told that the daemon is ready, that it is well time and again, and that it stops', async () => {
    const { manager, told, environment } = standIn(underSystemd);
    manager.ready('mirroring', () => true);
    await expect.poll(told).toEqual(expect.arrayContaining(['READY=1|STATUS=mirroring|', 'WATCHDOG=1|']));
    await manager.stopping();
    expect(told()).toContain('STOPPING=1|');
    expect(environment()).toContain('NOTIFY_SOCKET=/run/systemd/notify');
    expect(environment()).not.toContain(KEY);
  });

  it('hears nothing of a daemon that is not well, so that it restarts it', async () => {
    const { manager, told } = standIn(underSystemd);
    let asked = 0;
    manager.ready('mirroring', () => {
      asked += 1;
      return false;
    });
    await expect.poll(() => asked).toBeGreaterThan(1);
    await expect.poll(told).toEqual(['READY=1|STATUS=mirroring|']);
    await manager.stopping();
    expect(told()).toEqual(['READY=1|STATUS=mirroring|', 'STOPPING=1|']);
  });

  it('that does not take what it is told holds up nobody who stops', async () => {
    const { manager, told, hang } = standIn({ NOTIFY_SOCKET: '/run/n' }, 300);
    hang();
    manager.ready('mirroring', () => true);
    await expect.poll(() => told().length).toBeGreaterThan(0);
    // What hangs is ended: else this would take a minute.
    await manager.stopping();
  });

  it.each([
    ['is not there', {}, 0],
    ['wants no watchdog', { NOTIFY_SOCKET: '/run/n' }, 2],
    ['watches another process', { ...underSystemd, WATCHDOG_PID: '1' }, 2],
  ])('is left alone where it %s', async (_, settings, times) => {
    const { manager, told } = standIn(settings);
    manager.ready('mirroring', () => true);
    await manager.stopping();
    await expect.poll(() => told().length).toBe(times);
    expect(told().join()).not.toContain('WATCHDOG');
  });

  /** Listens as systemd does, and prints each message as a line of JSON. */
  const listener = `
import json, os, socket, sys
server = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
server.bind(sys.argv[1])
print('listening', flush=True)
while True:
    message, fds, _, _ = socket.recv_fds(server, 4096, 1)
    for fd in fds: os.close(fd)
    print(json.dumps(message.decode()), flush=True)
`;

  it('hears it on its own kind of socket, by its own program', async () => {
    needs('python3', 'systemd-notify');
    const socket = join(temporaryFolder(), 'notify');
    const python = spawn('python3', ['-c', listener, socket]);
    onTestFinished(() => void python.kill());
    let heard = '';
    python.stdout.on('data', (text) => {
      heard += text;
    });
    await expect.poll(() => heard).toContain('listening');
    const environment = { PATH: process.env['PATH'], NOTIFY_SOCKET: socket };
    const manager = systemdNotifier({ environment, log: createLog('silent', false) });
    manager.ready('mirroring https://api.example.com', () => true);
    await manager.stopping();
    await expect.poll(() => heard).toContain('STOPPING=1');
    expect(heard).toContain('"READY=1\\nSTATUS=mirroring https://api.example.com"');
  });
});

describe('a run that shows no sign of life for a quarter of an hour', () => {
  const MINUTE = 60_000;

  it('is silent, a slow or ended one is not', () => {
    const clock = virtualClock();
    const pulse = createPulse(() => false, clock.now);
    for (const job of ['stuck', 'slow', 'ended']) pulse.beat(job);
    clock.advance(14 * MINUTE);
    pulse.beat('slow');
    pulse.end('ended');
    expect(pulse.silent()).toEqual([]);
    clock.advance(2 * MINUTE);
    expect(pulse.silent()).toEqual(['stuck']);
  });

  it('is not silent while it waits for a permit and others go first', () => {
    const clock = virtualClock();
    const pulse = createPulse((job) => job === 'last', clock.now);
    for (const job of ['first', 'last']) pulse.beat(job);
    for (let minutes = 0; minutes < 60; minutes += 10) {
      clock.advance(10 * MINUTE);
      pulse.beat('first');
    }
    expect(pulse.silent()).toEqual([]);
    // Nobody goes any more.
    clock.advance(16 * MINUTE);
    expect(pulse.silent()).toEqual(['first', 'last']);
  });
});
