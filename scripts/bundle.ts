/**
 * The last step of `npm run build`: `dist/src/cli.js` and the process of a query become one file each, since a command
 * that reads would spend more time on finding its modules than on reading. All other files stay as they were compiled.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, type Plugin } from 'esbuild';
import { licencesOf } from './licences.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const src = join(root, 'dist/src/');

/** Part of a program's file although they are loaded late: what the commands that only read are made of. */
const taken = [
  'job-list.js',
  ...['export', 'plan', 'quarantine', 'query', 'status'].map((command) => `commands/${command}.js`),
  'commands/asking.js',
  ...['csv', 'json', 'md', 'print', 'table'].map((part) => `output/${part}.js`),
].map((file) => join(src, file));

/** Never part of one: a Failure is a Failure wherever it comes from. */
const shared = [join(src, 'errors.js')];

for (const program of ['cli.js', 'reading/query/process.js']) await bundle(join(src, program));

async function bundle(program: string): Promise<void> {
  const { outputFiles, metafile } = await build({
    absWorkingDir: root,
    entryPoints: [program],
    bundle: true,
    write: false,
    metafile: true,
    format: 'esm',
    platform: 'node',
    target: 'node20.19',
    logLevel: 'warning',
    // Packages that are written for `require` ask it for the modules of Node.js.
    banner: {
      js: "import { createRequire as requireFrom } from 'node:module';\nconst require = requireFrom(import.meta.url);",
    },
    plugins: [apart(program), inPlace(program)],
  });
  const notices = licencesOf(root, Object.keys(metafile.inputs)).map(asComment);
  writeFileSync(program, `${outputFiles[0]?.text}${notices.join('')}`);
}

/** Leaves in files of their own what is loaded late, unless it is `taken`, and what is `shared`. */
function apart(program: string): Plugin {
  return {
    name: 'apart',
    setup({ onResolve }) {
      onResolve({ filter: /./ }, ({ path, kind, resolveDir }) => {
        const file = resolve(resolveDir, path);
        const isApart = kind === 'dynamic-import' ? !taken.includes(file) : shared.includes(file);
        if (!isApart) return undefined;
        return { path: path.startsWith('.') ? addressFrom(program, file) : path, external: true };
      });
    },
  };
}

/** A module that looks for other files by its own place goes on to find them. */
function inPlace(program: string): Plugin {
  return {
    name: 'in-place',
    setup({ onLoad }) {
      onLoad({ filter: /\.js$/ }, ({ path }) => {
        if (!path.startsWith(src)) return undefined;
        const place = `new URL(${JSON.stringify(addressFrom(program, path))}, import.meta.url).href`;
        return { contents: readFileSync(path, 'utf8').replaceAll('import.meta.url', place) };
      });
    },
  };
}

function addressFrom(program: string, file: string): string {
  return `./${relative(dirname(program), file)}`;
}

function asComment(notice: string): string {
  return `\n/*\n${notice.replaceAll('*/', '* /')}\n*/\n`;
}
