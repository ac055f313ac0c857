// The conventions that a compiler does not check: import directions (a table), files with exclusive rights, and file
// sizes.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, posix, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { consoleAgentFrames, consoleDashboardFrames } from '../../src/api/frames.ts';

const root = join(dirname(new URL(import.meta.url).pathname), '../..');

const files = ['src', 'actors', 'adapters', 'demo', 'packages/agent/src'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => posix.join(folder, name.replaceAll('\\', '/'))),
);

/**
 * folder → folders it may import from, besides itself and src/concurrency, which all may; the longest matching folder
 * counts.
 */
const allowed: { readonly [folder: string]: readonly string[] } = {
  'src/concurrency': [],
  'packages/agent/src/rules': [],
  'packages/agent/src': ['packages/agent/src/rules'],
  'src/domain': [],
  'src/ports': ['src/domain'],
  'src/api': ['src/domain'],
  'src/app': ['actors/protocol', 'src/ports', 'src/domain'],
  'src/jobs': ['src/app', 'src/ports', 'src/domain'],
  'src/handlers': ['src/api', 'src/app', 'actors/protocol', 'src/ports', 'src/domain'],
  'src/http': ['src/api', 'src/app', 'src/ports', 'src/domain'],
  'actors/protocol': ['actors/runtime', 'src/ports', 'src/domain'],
  'actors/runtime': ['src/ports', 'src/domain'],
  actors: ['actors/protocol', 'actors/runtime', 'src/domain', 'src/ports'],
  'adapters/node-http': ['src/ports', 'src/domain', 'src/http'],
  'adapters/uws': ['src/ports', 'src/domain', 'src/http', 'src/api'],
  adapters: ['src/ports', 'src/domain'],
  // Runs in browsers: the words of the API, the rules of the hub that need no server, and the generated client.
  'src/dashboard': ['src/api', 'src/domain', 'packages/agent/src', 'packages/agent/src/rules'],
  // Uses the hub and the agent library as anybody else would.
  demo: ['src/bootstrap', 'src/config.ts'],
};
const isRoot = (file: string): boolean =>
  ['src/main.ts', 'src/client.ts', 'src/config.ts'].includes(file) ||
  /^src\/(bootstrap|commands)\//.test(file);

/** What each adapter folder brings from outside; a package named for one folder may be imported nowhere else. */
const vendors: { readonly [name: string]: readonly string[] } = {
  'uWebSockets.js': ['adapters/uws'],
  ws: ['adapters/node-http', 'packages/agent/src'],
  libsql: ['adapters/sqlite'],
  mongodb: ['adapters/mongo'],
  redis: ['adapters/redis', 'adapters/bullmq'],
  bullmq: ['adapters/bullmq'],
  pino: ['adapters/node'],
  tweetnacl: ['adapters/node', 'src/dashboard'],
  nodemailer: ['adapters/messengers'],
  jose: ['adapters/jose'],
  yaml: ['packages/agent/src/rules'],
  react: ['src/dashboard'],
  'react-dom/client': ['src/dashboard'],
};

const sourceOf = (file: string): string => readFileSync(join(root, file), 'utf8');
const importsOf = (file: string): string[] =>
  [...sourceOf(file).matchAll(/^(?:import|export)\b[^;]*?from\s+'([^']+)'/gm)].map((match) => match[1] ?? '');
const folderOf = (file: string): string => {
  const parts = file.split('/');
  if (parts[0] === 'adapters') return parts.slice(0, 2).join('/');
  if (file.startsWith('actors/runtime/')) return 'actors/runtime';
  if (file === 'actors/protocol.ts') return 'actors/protocol';
  if (parts[0] === 'packages') {
    const source = parts.slice(0, 3).join('/');
    return parts[3] === 'rules' ? `${source}/rules` : source;
  }
  return parts[0] === 'src' ? parts.slice(0, 2).join('/') : (parts[0] ?? '');
};
/** The files of this repository that a file imports. */
const ownImportsOf = (file: string): string[] =>
  importsOf(file)
    .filter((name) => name.startsWith('.'))
    .map((name) => relative(root, join(root, dirname(file), name)).replaceAll('\\', '/'));
const rulesOf = (folder: string): readonly string[] =>
  allowed[folder] ?? (folder.startsWith('adapters/') ? (allowed.adapters ?? []) : []);

describe('import directions', () => {
  it.each(files.filter((file) => !isRoot(file)))('%s imports only what its folder may', (file) => {
    const folder = folderOf(file);
    const wrong = ownImportsOf(file)
      .map(folderOf)
      .filter(
        (target) => target !== 'src/concurrency' && target !== folder && !rulesOf(folder).includes(target),
      );
    expect(wrong).toEqual([]);
  });

  it('lets neither API take anything from the other: what both translate alike is in handlers/common', () => {
    const wrong = files.flatMap((file) =>
      ownImportsOf(file)
        .filter((name) => {
          const [from, to] = [file, name].map((path) => /^src\/handlers\/(\w+)\//.exec(path)?.[1]);
          return from && to && to !== 'common' && from !== to;
        })
        .map((name) => `${file} imports ${name}`),
    );
    expect(wrong).toEqual([]);
  });

  it('leads no file back to itself', () => {
    const circles: string[] = [];
    const done = new Set<string>();
    const walk = (file: string, path: readonly string[]): void => {
      if (path.includes(file)) circles.push([...path.slice(path.indexOf(file)), file].join(' → '));
      if (done.has(file)) return;
      done.add(file);
      for (const next of ownImportsOf(file)) if (files.includes(next)) walk(next, [...path, file]);
    };
    for (const file of files) walk(file, []);
    expect(circles).toEqual([]);
  });

  it('starts a hub on its own without the clients of services that it does not use', () => {
    const seen = new Set<string>();
    const packages = new Set<string>();
    const walk = (file: string): void => {
      if (seen.has(file)) return;
      seen.add(file);
      for (const [, name = ''] of sourceOf(file).matchAll(
        /^(?:import|export) (?!type)[^;]*?from\s+'([^']+)'/gm,
      )) {
        const path = relative(root, join(root, dirname(file), name));
        if (!name.startsWith('.')) packages.add(name);
        else if (files.includes(path)) walk(path);
      }
    };
    walk('src/commands/serve.ts');
    expect([...packages]).toContain('zod');
    expect([...packages].filter((name) => /^(mongodb|redis|bullmq|nodemailer)/.test(name))).toEqual([]);
  });

  it('gives browsers types of the API alone, and of the agent package what needs no Node', () => {
    const shipped = files
      .filter((file) => file.startsWith('src/dashboard/'))
      .flatMap((file) =>
        [...sourceOf(file).matchAll(/^import (?!type)[^;]*?from\s+'([^']+)'/gm)]
          .map((match) => relative(root, join(root, dirname(file), match[1] ?? '')))
          .filter(
            (name) =>
              name.startsWith('src/api/') ||
              /^packages\/agent\/src\/(?!rules\/|evidence\/|console\/generated\/)/.test(name),
          )
          .map((name) => `${file} imports ${name}`),
      );
    expect(shipped).toEqual([]);
  });

  it('keeps each vendor package in its own folder', () => {
    const wrong = files.flatMap((file) =>
      importsOf(file)
        .filter((name) => vendors[name] && !vendors[name].some((folder) => file.startsWith(`${folder}/`)))
        .map((name) => `${file} imports ${name}`),
    );
    expect(wrong).toEqual([]);
  });
});

describe('exclusive rights', () => {
  const uses = (pattern: RegExp): string[] =>
    files.filter((file) => pattern.test(sourceOf(file).replace(/\/\/.*$|\/\*[\s\S]*?\*\//gm, '')));

  it('reads the environment in one file (and one in the agent library, which runs in the agent)', () => {
    expect(uses(/\bprocess\.env\b|\benv\b[^;]*'node:process'/).sort()).toEqual([
      'packages/agent/src/environment.ts',
      'src/config.ts',
    ]);
  });

  it('takes time, timers and randomness from one file (and one in the agent library)', () => {
    const owners = ['adapters/node/clock.ts', 'packages/agent/src/clock.ts', 'src/dashboard/lib/browser.ts'];
    const pattern = /\bDate\.now\(|\bsetTimeout\(|\bsetInterval\(|\bMath\.random\(/;
    expect(uses(pattern).filter((file) => !owners.includes(file))).toEqual([]);
  });

  it('names the events of the streams at the edge alone', () => {
    const types = Object.keys({ ...consoleAgentFrames, ...consoleDashboardFrames });
    const edge = ['src/api/', 'src/http/', 'adapters/', 'packages/agent/', 'demo/', 'src/dashboard/'];
    const named = uses(new RegExp(`'(?:${types.join('|')})'`));
    expect(named.filter((file) => !edge.some((folder) => file.startsWith(folder)))).toEqual([]);
  });

  it('keeps no state of a hub in a module: several hubs may run in one process', () => {
    const emptyMaps = /^(?:export )?(?:const|let) \w+(?:: [^=]+)? = new (?:Weak)?(?:Map|Set)(?:<.*>)?\(\)/m;
    const ofHub = (file: string) => /^(?:src|actors|adapters)\/(?!dashboard\/)/.test(file);
    expect(uses(emptyMaps).filter(ofHub)).toEqual([]);
  });

  it('writes to no console', () => {
    expect(uses(/\bconsole\./)).toEqual([]);
  });
});

describe('files', () => {
  it('has none over 400 lines', () => {
    expect(files.filter((file) => sourceOf(file).split('\n').length > 401)).toEqual([]);
  });

  it('opens each with what it owns', () => {
    expect(files.filter((file) => !/^(#!.*\n)?(\/\/|\/\*\*)/.test(sourceOf(file)))).toEqual([]);
  });
});
