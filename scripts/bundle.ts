/**
 * Makes the program: entry points and late modules become a file each in `dist/`, what they share a few files in `dist/src/parts/`, with
 * the packages that most commands need: to find hundreds of modules would take most of the time of a short command.
 */

import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Plugin } from 'esbuild';

export const root = fileURLToPath(new URL('..', import.meta.url));

/** Each stands by itself: a command line, our threads and processes, of which that of a query starts quickly, and what jobs import. */
const light = [
  'src/cli.ts',
  'src/worker-main.ts',
  'src/reading/query/process.ts',
  'src/serve/process.ts',
  'src/job.ts',
];

/** The step of the build that writes down the jobs. */
const others = ['src/job/write-list.ts'];

const jobs = filesIn('jobs');
const entryPoints = [...light, ...others, ...jobs];

/** Packages that become part of the program. All others are loaded from `node_modules`, by the few commands that need them. */
export const bundledPackages = [
  'canonicalize',
  'commander',
  'croner',
  'csv-stringify',
  'drizzle-orm',
  'fastest-levenshtein',
  'ms',
  'undici',
  'zod',
];

/**
 * @param folder where `dist/` is made, beside a `package.json` and a `node_modules` of ours.
 * @returns what it is made of, from the project's folder.
 */
export async function bundle(folder: string, more: readonly string[] = []): Promise<string[]> {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: [...entryPoints, ...more],
    outdir: join(folder, 'dist'),
    outbase: '.',
    chunkNames: 'src/parts/[name]-[hash]',
    bundle: true,
    splitting: true,
    metafile: true,
    sourcemap: 'linked',
    sourcesContent: false,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    legalComments: 'none',
    logLevel: 'warning',
    // Packages that are written for `require` ask it for the modules of Node.js.
    banner: {
      js: "import { createRequire as requireFrom } from 'node:module';\nconst require = requireFrom(import.meta.url);",
    },
    plugins: [packages(), layers()],
  });
  return Object.keys(metafile.inputs);
}

function packages(): Plugin {
  return {
    name: 'packages',
    setup({ onResolve }) {
      onResolve({ filter: /^[^./]/ }, ({ path, kind }) => {
        const isBundled = bundledPackages.some((name) => path === name || path.startsWith(`${name}/`));
        return kind === 'entry-point' || isBundled ? undefined : { path, external: true };
      });
    },
  };
}

/**
 * Late modules import the command line, and jobs import what mirrors them. So esbuild keeps each of the two in few files,
 * instead of one for each way in which their parts are shared.
 */
function layers(): Plugin {
  const late = new Set([...others, ...filesIn('src').flatMap(importedLate)]);
  for (const file of light) late.delete(file);
  const below = (file: string) =>
    (late.has(file) && 'src/commands.ts') || (jobs.includes(file) && 'src/app.ts') || undefined;
  return {
    name: 'layers',
    setup({ onLoad }) {
      onLoad({ filter: /\.ts$/ }, ({ path }) => {
        const file = relative(root, path);
        const layer = below(file);
        // Imported last, so that what a module imports by itself comes in its own order.
        const import_ = layer === undefined ? '' : `\nimport ${JSON.stringify(join(root, layer))};`;
        return { contents: inPlace(file) + import_, loader: 'ts', resolveDir: dirname(path) };
      });
    },
  };
}

function importedLate(file: string): string[] {
  const found = readFileSync(join(root, file), 'utf8').matchAll(/\bimport\('(\.[^']+)'\)/g);
  return [...found].map(([, path = '']) => relative(root, resolve(root, dirname(file), path)));
}

/** A module that looks for files by `import.meta.url` still finds them: `package.json` lies above every output. */
function inPlace(file: string): string {
  const place = `new URL('dist/${file.replace(/ts$/, 'js')}', import.meta.resolve('#package')).href`;
  return readFileSync(join(root, file), 'utf8').replaceAll('import.meta.url', place);
}

function filesIn(folder: string): string[] {
  const files = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' });
  return files.filter((file) => /(?<!\.d)\.ts$/.test(file)).map((file) => join(folder, file));
}
