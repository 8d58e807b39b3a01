import { parseEnv } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { renderEnvFile } from '../../src/commands/init.ts';
import { allSettings, scheduleSetting } from '../../src/config/settings.ts';
import { Failure } from '../../src/errors.ts';
import { loadJobs } from '../../src/load-jobs.ts';

const jobs = await loadJobs();

describe('the .env file', () => {
  test('explains every setting there is, and sets none by itself', () => {
    const text = renderEnvFile({}, jobs);
    for (const { name, meaning } of allSettings) {
      expect(text).toContain(`# ${meaning}`);
      expect(text).toMatch(new RegExp(`^#${name}=`, 'm'));
    }
    expect(text).toContain(`# ${scheduleSetting.meaning}`);
    for (const { name, schedule } of jobs)
      expect(text).toContain(`#MIRROR_SCHEDULE_${name.replace('-', '_').toUpperCase()}='${schedule}'`);
    expect(parseEnv(text)).toEqual({});
  });

  test('shows what holds where nothing is set: every line may be uncommented', () => {
    const text = renderEnvFile({}, jobs).replaceAll(/^#(?=\w+=.)/gm, '');
    expect(parseEnv(text)).toMatchObject({
      MIRROR_DIR: './data',
      MIRROR_SCHEDULE_NEWS: 'every 5m',
      LOG_LEVEL: 'info',
    });
  });

  test('is read back with every value as it was given, or refuses it', () => {
    const character = fc.constantFrom(...'aZ09#$\\\'"`=;& !{}%-');
    const value = fc
      .string({ unit: character, minLength: 1, maxLength: 12 })
      .filter((text) => text.trim() === text);
    fc.assert(
      fc.property(value, value, (key, dir) => {
        try {
          const text = renderEnvFile({ MARKET_API_KEY: key, MIRROR_DIR: dir }, jobs);
          expect(parseEnv(text)).toEqual({ MARKET_API_KEY: key, MIRROR_DIR: dir });
        } catch (thrown) {
          if (!(thrown instanceof Failure)) throw thrown;
          expect(thrown.message).toMatch(
            /^(MARKET_API_KEY|MIRROR_DIR) cannot be written into \.env: set it in/,
          );
          expect([...'\'"`'].filter((quote) => `${key} ${dir}`.includes(quote))).toHaveLength(3);
        }
      }),
    );
  });
});
