/** `market-mirror keys`: who may read from `serve`, how much, and until when; and links to its page. */

import { Argument, Command } from 'commander';
import { readLocalConfig } from '../config.ts';
import { listJobs, scopesOf } from '../job-list.ts';
import { type Paint, paintFor } from '../output/text.ts';
import { printableJson } from '../printable.ts';
import { type Keyring, openKeyring } from '../serve/service/keys.ts';
import type { Context } from './context.ts';
import { withExamples } from './help.ts';
import {
  type Action,
  actions,
  checkUse,
  type Given,
  readDuration,
  readLimits,
  readName,
  readNetworks,
  readScopes,
  withKeyOptions,
} from './keys/options.ts';
import { linkToPage } from './keys/page.ts';
import {
  shownAccount,
  type Told,
  tellAccounts,
  tellIssued,
  tellKeys,
  tellLink,
  tellRevoked,
  tellRotated,
} from './keys/told.ts';

const DEFAULT_OVERLAP = '24h';

export function keysCommand(context: Context): Command {
  const command = new Command('keys')
    .addArgument(new Argument('<action>', 'what is to be done').choices(actions))
    .argument('[which]', 'revoke, rotate: the id of a key, or its name; limits: an account, all unless given')
    .action((action: Action, which: string | undefined, given: Given) => keys(action, which, given, context));
  return withExamples(
    withKeyOptions(command),
    [
      'a key for reports: every dataset, a thousand calls an hour',
      'keys create --name reports --quota 1000/1h',
    ],
    [
      'for one dataset, from one network, for three months',
      'keys create --name desk --scope news:read --allow 10.0.0.0/8 --expires 90d',
    ],
    ['when each was last used', 'keys list'],
    ['another in its place; the old one stays valid for a day', 'keys rotate reports --overlap 24h'],
    [
      'a quota that comes back call by call, ten a second',
      'keys limits reports --quota 5000/1h,refill --rate 10/1s+20',
    ],
    ['refused from now on', 'keys revoke desk'],
    ['a link to the page of serve, for a browser on this machine', 'keys page'],
  );
}

async function keys(
  action: Action,
  which: string | undefined,
  given: Given,
  context: Context,
): Promise<void> {
  const { environment, clock, stdout, stderr } = context;
  checkUse(action, which, given);
  if (action === 'page') return printLink(given, context);
  const act = await actionOf(action, which ?? '', given, clock.now());
  const keyring = openKeyring(readLocalConfig(environment).dir);
  try {
    const { json, text, notes = [] } = act(keyring, paintFor(stdout));
    stdout.write(given.json ? `${printableJson(json)}\n` : `${text}\n`);
    for (const note of notes) stderr.write(`${note}\n`);
  } finally {
    keyring.close();
  }
}

function printLink(given: Given, { environment, clock, stdout, stderr }: Context): void {
  const { json, text, notes } = tellLink(linkToPage(readLocalConfig(environment).dir, clock.now()));
  stdout.write(given.json ? `${printableJson(json)}\n` : `${text}\n`);
  for (const note of notes) stderr.write(`${note}\n`);
}

/** Reads all that was given first: nothing is done where any of it is wrong. */
async function actionOf(
  action: Exclude<Action, 'page'>,
  which: string,
  given: Given,
  now: number,
): Promise<(keyring: Keyring, paint: Paint) => Told> {
  const limits = readLimits(given);
  const lifetimeMs = given.expires === undefined ? undefined : readDuration('--expires', given.expires, 1);
  const overlapMs = readDuration('--overlap', given.overlap ?? DEFAULT_OVERLAP, 0);
  switch (action) {
    case 'create': {
      const terms = {
        ...(await readTerms(given)),
        expiresAt: lifetimeMs === undefined ? null : now + lifetimeMs,
      };
      return (keyring) => tellIssued(keyring.create(terms, limits, now), now);
    }
    case 'rotate':
      return (keyring) => tellRotated(keyring.rotate(which, overlapMs, lifetimeMs, now), now);
    case 'revoke':
      return (keyring) => tellRevoked(keyring.revoke(which, now), now);
    case 'list':
      return (keyring, paint) => tellKeys(keyring.list(), now, paint);
    case 'limits':
      if (which === '') return (keyring, paint) => tellAccounts(keyring.accounts(), paint);
      return (keyring, paint) => {
        const account = limits ? keyring.setLimits(which, limits) : keyring.account(which);
        return { ...tellAccounts([account], paint), json: shownAccount(account) };
      };
  }
}

async function readTerms(given: Given) {
  const name = readName(given.name, '--name');
  return {
    name,
    account: given.account === undefined ? name : readName(given.account, '--account'),
    scopes: readScopes(given.scope, scopesOf(await listJobs())),
    addresses: readNetworks(given.allow),
  };
}
