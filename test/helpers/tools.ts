/** Programs that are not ours, which tests cannot do without: `./setup.sh --tests` installs them. */

import { accessSync, constants, existsSync, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';

/** A test that is skipped holds nothing, so it fails where its tool is missing: @throws a line that says how to get it. */
export function needs(...tools: string[]): void {
  for (const tool of tools) if (!isThere(tool)) throw missing(tool);
}

/** The library that a program is started with to live in another time. @throws where it is missing. */
export function libfaketime(): string {
  const folders = ['/usr/lib', '/usr/lib64', '/usr/local/lib', '/opt/homebrew/lib']
    .filter((folder) => existsSync(folder))
    .flatMap((folder) => [folder, ...readdirSync(folder).map((name) => join(folder, name))]);
  const names = ['libfaketime.so.1', 'libfaketime.1.dylib'];
  const file = folders
    .flatMap((folder) => names.map((name) => join(folder, 'faketime', name)))
    .find((place) => existsSync(place));
  if (!file) throw missing('libfaketime');
  return file;
}

/** A browser that can do without a screen; `CHROMIUM` names another. @throws where there is none. */
export function chromium(): string {
  const named = process.env['CHROMIUM'];
  if (named) return named;
  const names = [
    'chromium-headless-shell',
    'headless_shell',
    'chromium',
    'chromium-browser',
    'google-chrome',
  ];
  const [found] = names.flatMap((name) => placeOf(name) ?? []);
  if (!found) throw missing('chromium');
  return found;
}

function missing(tool: string): Error {
  return new Error(`${tool} is missing: run ./setup.sh --tests`);
}

const isThere = (tool: string) => placeOf(tool) !== undefined;

function placeOf(tool: string): string | undefined {
  return (process.env['PATH'] ?? '')
    .split(delimiter)
    .map((folder) => join(folder, tool))
    .find((file) => {
      try {
        accessSync(file, constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}
