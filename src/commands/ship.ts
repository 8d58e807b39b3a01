/** `market-mirror ship`: sends to Postgres what it has not yet, proves both sides equal, or forgets that one. */

import { Command } from 'commander';
import { type Environment, readLocalConfig, readShip } from '../config.ts';
import { exitCodes, Failure } from '../errors.ts';
import { number, plural } from '../output/text.ts';
import { keepHeapSmall } from '../small-heap.ts';
import { differenceWords, isDifferent } from '../targets/difference.ts';
import type { ShipParts, Shipped } from '../targets/ship.ts';
import type { Context } from './context.ts';
import { withExamples } from './help.ts';
import { jobsNamed, type Telling, tellOutcomes } from './outcomes.ts';

type Options = { verify?: true; drop?: true; yes?: true; reader?: string; json?: true };

export function shipCommand(context: Context): Command {
  const command = new Command('ship')
    .argument('[job...]', 'the jobs to ship; all unless given')
    .option('--verify', 'compare all that is there with the mirror, name what differs and mend it')
    .option('--reader <role>', 'let this role of Postgres read all of it; made where there is none')
    .option('--drop', 'remove all of it from Postgres; with --yes')
    .option('--yes', 'do remove it')
    .option('--json', 'print what became of each job as JSON')
    .action((names: string[], options: Options) => run(names, options, context));
  return withExamples(
    command,
    ['what changed since it was last shipped', 'ship'],
    ['prove that Postgres holds what the mirror holds', 'ship --verify'],
    ['let reports read it as the role analysts', 'ship --reader analysts'],
  );
}

async function run(names: string[], options: Options, context: Context): Promise<void> {
  keepHeapSmall();
  const { environment, clock, signal, stdout } = context;
  const { dir } = readLocalConfig(environment);
  const address = addressOf(environment);
  const { jobs, only } = await jobsNamed(names);
  const { admit, forget, ship } = await import('../targets/ship.ts');
  const parts: ShipParts = { dir, address, jobs, now: clock.now, signal };
  if (options.drop) {
    if (!options.yes)
      throw new Failure(
        'usage',
        `--drop removes the schema ${address.schema} from Postgres with all that lies in it: say --yes, too`,
      );
    const was = await forget(parts);
    stdout.write(`${address.schema} ${was ? 'is removed from Postgres' : 'was not there'}\n`);
    return;
  }
  const isVerified = options.verify === true;
  const outcomes = await ship(parts, { only, compare: isVerified });
  if (options.reader !== undefined) await admit(parts, options.reader);
  tellOutcomes(outcomes, telling(isVerified), options.json === true, context);
}

function addressOf(environment: Environment) {
  const address = readShip(environment);
  if (address) return address;
  throw new Failure(
    'config',
    'MIRROR_SHIP is missing: set it to a Postgres, such as postgres://user:password@host:5432/database, or MIRROR_SHIP_FILE to a file that holds that',
  );
}

const telling = (isVerified: boolean): Telling<Shipped> => ({
  lines(shipped) {
    const said = isVerified || shipped.how === 'compared' ? comparison(shipped) : sentWords(shipped);
    return [[`${said}, up to change ${shipped.to}`, ...shipped.problems].join('; ')];
  },
  json: (shipped) => ({ shipped }),
  exitCode: ({ problems }) => (problems.length > 0 ? exitCodes.incomplete : exitCodes.done),
});

function sentWords({ how, sent }: Shipped): string {
  if (how === 'first') return `${number(sent)} ${plural(sent, 'row')} sent, all there are`;
  return sent === 0 ? 'nothing new' : `${number(sent)} ${plural(sent, 'change')} sent`;
}

function comparison({ mended }: Shipped): string {
  const differing = mended.filter(isDifferent).map((found) => `${found.table} (${differenceWords(found)})`);
  return differing.length === 0 ? 'both sides are equal' : `mended ${differing.join('; ')}`;
}
