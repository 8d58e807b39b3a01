/**
 * `npm run pack [-- --built] [-- --to <folder>]`: makes `market-mirror-<version>.tgz` of the commit: the built program, its docs, and the
 * packages that it loads. Two builds of a commit are equal byte by byte, by the same Node.js and npm.
 */

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  cpSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import type { BuildInfo } from './build.ts';
import { bundledPackages } from './bundle.ts';

type Package = { name: string; version: string; dependencies: Record<string, string> } & Record<
  string,
  unknown
>;
type Component = { 'bom-ref': string; name: string; properties?: { name: string }[] };
type Bom = {
  serialNumber: string;
  metadata: { timestamp: string; component: { name: string } };
  components: Component[];
  dependencies: { ref: string; dependsOn?: string[] }[];
};

const root = fileURLToPath(new URL('..', import.meta.url));
const npm = (cwd: string, ...args: string[]) =>
  execFileSync('npm', args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });

/** What an installed program and the links of its docs need. */
const shipped = [
  'dist',
  'drizzle',
  'deploy',
  'docs',
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
];

const { built, to } = parseArgs({
  options: { built: { type: 'boolean' }, to: { type: 'string', default: root } },
}).values;
if (!built) npm(root, 'run', 'build', '--silent');
const { commit, committedAt } = JSON.parse(readFileSync(join(root, 'dist/build.json'), 'utf8')) as BuildInfo;
const stage = mkdtempSync(join(tmpdir(), 'market-mirror-pack-'));
try {
  for (const name of shipped) cpSync(join(root, name), join(stage, name), { recursive: true });
  const described = writePackage();
  writeFileSync(join(stage, 'sbom.json'), `${JSON.stringify(billOfMaterials(), null, 2)}\n`);
  setModes(stage);
  npm(stage, 'pack', '--silent', '--ignore-scripts', '--pack-destination', to);
  const file = `${described.name}-${described.version}.tgz`;
  const data = readFileSync(join(to, file));
  const digest = createHash('sha256').update(data).digest('hex');
  process.stdout.write(`${file}: ${data.length} bytes, sha256 ${digest}, of commit ${commit ?? 'unknown'}\n`);
} finally {
  rmSync(stage, { recursive: true, force: true });
}

/** Only what runs: no packages that are part of the program, no scripts. Its exact packages are written down with it. */
function writePackage(): Package {
  const {
    devDependencies: _dev,
    scripts: _scripts,
    files: _files,
    ...rest
  } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Package;
  const loaded = Object.entries(rest.dependencies).filter(([name]) => !bundledPackages.includes(name));
  cpSync(join(root, 'package-lock.json'), join(stage, 'package-lock.json'));
  cpSync(join(root, '.npmrc'), join(stage, '.npmrc'));
  const needed = lockedFor({ ...rest, dependencies: Object.fromEntries(loaded) });
  // npm heeds the shrinkwrap of a package of the registry, but not of a file: so the file names what its packages need, too.
  const described = { ...rest, ...pinned(needed, rest) };
  lockedFor(described);
  cpSync(join(stage, 'package-lock.json'), join(stage, 'npm-shrinkwrap.json'));
  rmSync(join(stage, 'package-lock.json'));
  rmSync(join(stage, '.npmrc'));
  return described;
}

type Locked = Record<string, { version: string; optional?: true }>;

/** Writes package.json, and a lock of all that it needs. */
function lockedFor(described: object): Locked {
  writeFileSync(join(stage, 'package.json'), `${JSON.stringify(described, null, 2)}\n`);
  npm(stage, 'install', '--package-lock-only', '--ignore-scripts', '--offline', '--silent');
  return JSON.parse(readFileSync(join(stage, 'package-lock.json'), 'utf8')).packages;
}

/** Every package with its version. An alias keeps what package.json says of it. */
function pinned(locked: Locked, { optionalDependencies }: Partial<Package>) {
  const named = Object.entries(locked).flatMap(([path, { version, optional = false }]) => {
    const [, name] = /^node_modules\/((?:@[^/]+\/)?[^/]+)$/.exec(path) ?? [];
    return name ? [{ name, version, optional }] : [];
  });
  const versions = (isOptional: boolean) =>
    Object.fromEntries(
      named.filter(({ optional }) => optional === isOptional).map(({ name, version }) => [name, version]),
    );
  return {
    dependencies: versions(false),
    optionalDependencies: { ...versions(true), ...(optionalDependencies as object) },
  };
}

/** CycloneDX: the packages that are installed with the program, and those that are part of it. */
function billOfMaterials(): Bom {
  const bom = JSON.parse(
    npm(root, 'sbom', '--sbom-format', 'cyclonedx', '--package-lock-only', '--silent'),
  ) as Bom;
  const notices = ['licences.txt', 'web/assets/licences.txt'].map((file) =>
    readFileSync(join(root, 'dist', file), 'utf8'),
  );
  const bundled = new Set(
    notices.flatMap((text) => [...text.matchAll(/^Contains (.+):$/gm)].map(([, name]) => name)),
  );
  const isForDevelopment = ({ properties = [] }: Component) =>
    properties.some(({ name }) => name === 'cdx:npm:package:development');
  const components = bom.components.filter(
    (component) => !isForDevelopment(component) || bundled.has(nameIn(component['bom-ref'])),
  );
  const refs = new Set(components.map((component) => component['bom-ref']));
  const [own] = bom.dependencies;
  const dependencies = bom.dependencies
    .filter(({ ref }) => ref === own?.ref || refs.has(ref))
    .map(({ ref, dependsOn = [] }) => ({ ref, dependsOn: dependsOn.filter((other) => refs.has(other)) }));
  const metadata = {
    ...bom.metadata,
    timestamp: new Date(committedAt ?? 0).toISOString(),
    component: { ...bom.metadata.component, name: 'market-mirror' },
  };
  return {
    ...bom,
    serialNumber: `urn:uuid:${uuidOf(commit ?? 'unknown')}`,
    metadata,
    components,
    dependencies,
  };
}

function nameIn(ref: string): string {
  return ref.replace(/@[^@]+$/, '');
}

/** A UUID of version 8, whose bits are ours to choose. */
function uuidOf(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex');
  return hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, '$1-$2-8$3-8$4-$5');
}

/** Whatever the umask of who builds. */
function setModes(folder: string): void {
  for (const name of readdirSync(folder)) {
    const path = join(folder, name);
    const isFolder = statSync(path).isDirectory();
    chmodSync(path, isFolder || path.endsWith('dist/src/cli.js') ? 0o755 : 0o644);
    if (isFolder) setModes(path);
  }
}
