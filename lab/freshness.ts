/** `npm run simulate -- freshness`: how late, how wrong and how dear the copy is, in virtual time: docs/dev/freshness-figures.md. */

import { failuresSection } from './freshness/failures.ts';
import { randomSection, unseenSection } from './freshness/random-worlds.ts';
import { type Section, type Target, targetTable } from './freshness/targets.ts';
import { unchangedEndSection } from './freshness/unchanged-end.ts';
import { usualSection } from './freshness/usual.ts';

export type Part = keyof typeof parts;

const parts = {
  usual: { title: 'The usual world', section: usualSection },
  failures: { title: 'Where the head is worth nothing', section: failuresSection },
  random: { title: 'Random worlds', section: randomSection },
  unseen: { title: 'Every rule that was tried, in worlds unseen before', section: unseenSection },
  end: { title: 'Leaving out the unchanged end of a published dataset', section: unchangedEndSection },
} satisfies Record<string, { title: string; section: (seeds: number) => Promise<Section> }>;

export const partNames = Object.keys(parts) as Part[];

/** Resolves to whether every target held. */
export async function printFreshness(
  wanted: readonly Part[],
  seeds: number,
  print: (text: string) => void,
): Promise<boolean> {
  const targets: Target[] = [];
  for (const part of wanted) {
    const { title, section } = parts[part];
    const { text, targets: ofPart } = await section(seeds);
    print(`\n## ${title}\n\n${text}\n`);
    targets.push(...ofPart);
  }
  if (targets.length > 0) print(`\n## Targets\n\n${targetTable(targets)}\n`);
  return targets.every(({ holds }) => holds);
}
