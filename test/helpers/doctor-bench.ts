/** `market-mirror doctor` against a model API, and what it found. */

import { expect, onTestFinished } from 'vitest';
import type { ModelOptions } from '../../model-api/index.ts';
import type { Diagnosis } from '../../src/commands/doctor.ts';
import { CANARY, setupSync } from './sync-bench.ts';
import { virtualClock } from './virtual-clock.ts';

/** By their jobs, as the doctor asks them. */
export const endpoints = ['usage', 'ai-signals', 'meme-signals', 'news', 'smart-wallets'];

/** In a working folder of its own. @param aheadMs what the clock of this machine is ahead of the API's. */
export async function setupDoctor(options: ModelOptions = {}, aheadMs = 0) {
  // The model's answers are dated by the real clock, which goes on while a busy machine keeps the doctor waiting.
  const passed = virtualClock(0);
  const clock = { ...passed, now: () => Date.now() + aheadMs + passed.now() };
  const bench = await setupSync({ rows: 20, ...options }, clock);
  const home = process.cwd();
  process.chdir(bench.cwd);
  onTestFinished(() => process.chdir(home));
  const doctor = async (args: string[] = [], changes: Record<string, string> = {}) => {
    const ended = await bench.run(['doctor', '--json', ...args], changes);
    expect(ended.stdout + ended.stderr).not.toContain(CANARY);
    const { checks, ...diagnosis } = JSON.parse(ended.stdout) as Diagnosis;
    expect(diagnosis).toEqual({ version: 1, at: expect.stringMatching(/Z$/), exitCode: ended.code });
    const wrong = checks.filter(({ level }) => level === 'warning' || level === 'problem');
    // What to do stands beside what is wrong, or in the same sentence.
    for (const { advice, message } of wrong)
      expect(advice ?? message).toMatch(advice ? /./ : /[:;] \w|of the form/);
    const check = (name: string) => checks.find((found) => found.name === name);
    return { ...ended, check, troubles: wrong.map(({ name, level }) => `${level} ${name}`) };
  };
  return { ...bench, doctor };
}
