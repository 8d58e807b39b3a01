#!/usr/bin/env node
/**
 * Asks the registry for advisories about the packages that users get, in the working folder. Fails for one that is high or
 * critical. A registry that answers no such questions, as many mirrors do, is no failure, but it is said.
 */

import { spawnSync } from 'node:child_process';

const asked = spawnSync(
  'npm',
  ['audit', '--omit=dev', '--json', '--fetch-retries=1', '--fetch-timeout=60000'],
  { encoding: 'utf8', maxBuffer: 2 ** 26 },
);
const { vulnerabilities, message, error } = parse(asked.stdout);

if (vulnerabilities === undefined) {
  say(
    `NOT AUDITED: the registry gives no advisories (${message ?? error?.summary ?? lastLine(asked.stderr)})`,
  );
} else {
  const all = Object.values(vulnerabilities);
  const grave = all.filter(({ severity }) => severity === 'high' || severity === 'critical');
  for (const { name, severity, range, via } of grave) {
    const titles = via.filter((one) => typeof one === 'object').map(({ title, url }) => `${title} ${url}`);
    say(`${severity}: ${name} ${range}${titles.length > 0 ? `: ${titles.join('; ')}` : ''}`);
  }
  say(`audited: ${grave.length} of high or critical severity, ${all.length - grave.length} others`);
  process.exitCode = grave.length > 0 ? 1 : 0;
}

function say(line) {
  process.stdout.write(`${line}\n`);
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

function lastLine(text) {
  return (text ?? '').trim().split('\n').at(-1) || 'npm said nothing';
}
