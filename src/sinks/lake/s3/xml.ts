/** What S3 says in XML, as far as a lake needs it. */

export type Listed = { folders: string[]; files: string[]; next: string | undefined };

/** A page of ListObjectsV2: the names below a prefix. */
export function listedIn(xml: string, prefix: string): Listed {
  const named = (pattern: RegExp) =>
    [...xml.matchAll(pattern)].map(({ groups = {} }) => plain(groups['name'] ?? '').slice(prefix.length));
  const folders = named(/<CommonPrefixes>\s*<Prefix>(?<name>[^<]*)<\/Prefix>/g);
  const files = named(/<Contents>.*?<Key>(?<name>[^<]*)<\/Key>/gs);
  return {
    folders: folders.map((name) => name.replace(/\/$/, '')),
    // Some make a file of no length for the folder itself.
    files: files.filter((name) => name !== ''),
    next: valueIn(xml, 'IsTruncated') === 'true' ? valueIn(xml, 'NextContinuationToken') : undefined,
  };
}

/** @returns the text of the first element of that name. */
export function valueIn(xml: string, name: string): string | undefined {
  const found = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1];
  return found === undefined ? undefined : plain(found);
}

const entities: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' };

const plain = (text: string) =>
  text.replace(/&(?:#x(?<hex>[0-9a-f]+)|#(?<dec>\d+)|(?<named>\w+));/gi, (all, hex, dec, named) => {
    if (named) return entities[named] ?? all;
    return String.fromCodePoint(Number.parseInt(hex ?? dec, hex ? 16 : 10));
  });
