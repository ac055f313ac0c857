// The words of code and documents: one name per concept, none of the names that were given up for the field's own, and
// lines of prose that a window holds.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../../', import.meta.url));

interface Source {
  readonly file: string;
  readonly text: string;
}

/** The files below these folders, and these files, whose names fit. */
const filesIn = (places: readonly string[], named: RegExp): readonly string[] =>
  places
    .filter((place) => existsSync(`${root}${place}`))
    .flatMap((place) =>
      statSync(`${root}${place}`).isFile()
        ? [place]
        : readdirSync(`${root}${place}`, { recursive: true, encoding: 'utf8' }).map(
            (name) => `${place}/${name}`,
          ),
    )
    .filter((file) => statSync(`${root}${file}`).isFile())
    .filter((file) => named.test(file) && !/\/(?:node_modules|dist|generated)\//.test(file))
    .filter((file) => !file.startsWith('test/conventions/words.test.ts'));

const sources = (places: readonly string[], named = /\.tsx?$/): readonly Source[] =>
  filesIn(places, named).map((file) => ({ file, text: readFileSync(`${root}${file}`, 'utf8') }));

const code = ['src', 'actors', 'adapters', 'packages/agent/src'];
const programs = ['bench', 'demo', 'scripts', 'test', 'packages/agent/test'];
const pages = [
  'README.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'packages/agent/README.md',
  'docs',
];
const deployment = ['deploy', 'Dockerfile', 'docker-compose.yml', '.ci'];

/** The types, interfaces and classes that a file exports. */
const exportedTypes = ({ text }: Source): readonly string[] =>
  [...text.matchAll(/^export (?:abstract )?(?:interface|type|class) (\w+)/gm)].map(([, name]) => name ?? '');

/** The same thing twice on purpose: the two HTTP servers, and the two stores, have their own of each. */
const twins = new Set(['Exchange', 'Handshake', 'SendOptions', 'Row']);

/** Words of an earlier vocabulary, with what each is called now. Some have another meaning, which stays. */
const givenUp: readonly (readonly [was: RegExp, now: string])[] = [
  [/\bports\/post\b|\b(?:create|redis|open)Post\b|\bPost(?:Reader|Reply|Position)\b/, 'MessageBus'],
  [/\bLetters?\b(?! [a-z])|\bunsettled\b/, 'Envelope, acknowledge'],
  [/\bhandlers\/turns\b|\bcreateTurns\b/, 'EventLoopBudget'],
  [/\bmongo\/turns\b|\binTurn\b/, 'KeyedMutex'],
  [/\bports\/rounds\b/, 'SingleFlight'],
  [/\bports\/batches\b/, 'Batcher'],
  [/\bports\/members\b|\bbeat(?:Script|\()|\broll\./, 'Membership, heartbeat'],
  [/\bports\/seals\b|\bSealStore\b|\bmongoSeals\b/, 'KeyCheck'],
  [/\bsightings?\b/i, 'lastSeen'],
  [/\bgiven\(/, 'omitUndefined'],
  [/\bsrc\/wire\b|\bdomain\/wire\b/, 'hub, vendorNames'],
  [/\bborn\b/, 'onActivate'],
  [/\beffects\.left\b/, 'onSent'],
  [/\bActorHost\b|\b[Ss]urroundings\b/, 'ActorRuntime, ActorEnvironment'],
  [/\b#?strays?\b|\bstray[A-Z]/, 'forward'],
  [/\bcallers\.stands\b|\bstands\(/, 'isStillValid'],
  [/\bun?marked[A-Z]|\bunmark\b/, 'unannouncedAt'],
  [/\branMany\b/, 'reportVersions'],
  [/\bline: Connection\b/, 'connection'],
  [/\b[Dd]oors?\b/, 'guarded store'],
  [/\b(?:Signing|Library)Head\b|\breadHead\(heads\b/, 'versioned document'],
  [/\bhouse\b/, 'conventions'],
  [/\bkit\b/, 'fixtures'],
  [/(?:\b(?:const|let|readonly) |[{(,] ?|#)most\b(?! [a-z])/, 'max'],
  [/\bunless ?[tT]old\b/, 'default'],
];

describe('words', () => {
  it('gives no name to two concepts of the hub', () => {
    const places = new Map<string, string[]>();
    for (const source of sources(['src', 'actors', 'adapters']).filter(
      ({ file }) => !file.startsWith('src/dashboard/'),
    )) {
      for (const name of exportedTypes(source)) places.set(name, [...(places.get(name) ?? []), source.file]);
    }
    const shared = [...places].filter(([name, files]) => files.length > 1 && !twins.has(name));
    expect(shared).toEqual([]);
  });

  it('gives no name to two concepts of the web console', () => {
    const names = sources(['src/dashboard']).flatMap(exportedTypes);
    expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([]);
  });

  it('has given up the words that newcomers did not know', () => {
    const all = sources(
      [...code, ...programs, ...pages, ...deployment],
      /\.(?:tsx?|mjs|md|css|yml|conf)$|run$/,
    );
    expect(all.length).toBeGreaterThan(1_000);
    const found = all.flatMap(({ file, text }) =>
      givenUp.flatMap(([was, now]) => {
        const word = was.exec(text)?.[0];
        return word === undefined ? [] : [`${file}: '${word}' is ${now}`];
      }),
    );
    expect(found).toEqual([]);
  });

  it('writes comments in lines of 120 columns', () => {
    const files = sources([...code, ...programs, ...deployment], /\.(?:tsx?|mjs|css|yml|conf|service)$/);
    const found = files.flatMap(({ file, text }) =>
      text.split('\n').flatMap((line, at) => (isLongComment(line) ? [`${file}:${at + 1}`] : [])),
    );
    expect(found).toEqual([]);
  });

  it('leaves no comment of a declaration behind when the declaration goes', () => {
    const orphans = sources([...code, ...programs]).flatMap(({ file, text }) =>
      [...text.matchAll(/\/\*\*(?:(?!\*\/).)*\*\/\n[ \t]*\n/gs)].map(
        ({ index }) => `${file}:${text.slice(0, index).split('\n').length}`,
      ),
    );
    expect(orphans).toEqual([]);
  });

  it('names in comments only files and folders that exist', () => {
    const places = [...code, ...programs, 'docs', 'deploy', '.ci'];
    const paths = pathsOf(filesIn(places, /./));
    const tops = new Set([
      ...places.map((place) => place.split('/')[0]),
      ...['src', 'src/shared', 'src/http'].flatMap((folder) => readdirSync(`${root}${folder}`)),
    ]);
    // Keys of actors look like paths; the build makes the folder of the typed client.
    const isOther = (path: string): boolean => /^tenant\/env\b|\/generated$/.test(path);
    const mentions = sources([...code, ...programs], /\.(?:tsx?|mjs)$/).flatMap(({ file, text }) =>
      text
        .split('\n')
        .flatMap((line, at) =>
          [...(isComment.test(line) ? line.matchAll(commentPath) : [])].flatMap(([path]) =>
            tops.has(path.split('/')[0]) ? [{ path, place: `${file}:${at + 1}` }] : [],
          ),
        ),
    );
    expect(mentions.length).toBeGreaterThan(100);
    const absent = mentions.filter(({ path }) => !paths.has(path) && !isOther(path));
    expect(absent).toEqual([]);
  });

  it('writes pages in lines of 120 columns, where they are neither code nor tables', () => {
    const found = sources(pages, /\.md$/).flatMap(({ file, text }) =>
      text
        .replace(/^ *```[\s\S]*?^ *```/gm, (block) => block.replace(/[^\n]/g, ''))
        .split('\n')
        .flatMap((line, at) => (line.length > 120 && !line.startsWith('|') ? [`${file}:${at + 1}`] : [])),
    );
    expect(found).toEqual([]);
  });

  it('keeps what a cell of a table says short: the rest stands below the table', () => {
    const maxCell = 400;
    const found = sources(pages, /\.md$/).flatMap(({ file, text }) =>
      text.split('\n').flatMap((line, at) => {
        const isRow = line.startsWith('|');
        return isRow && line.split('|').some((cell) => cell.trim().length > maxCell)
          ? [`${file}:${at + 1}`]
          : [];
      }),
    );
    expect(found).toEqual([]);
  });
});

const isComment = /^\s*(?:\/\/|\/?\*)/;
/** Words with slashes between; no part of a URL, of a route or of a package's name, no pattern. */
const commentPath = /(?<![\w./@{}*:?=&%$-])[\w-]+(?:\/[\w.-]+)*\/[\w.-]*\w/g;

/** Every part of the paths of files that a text may name: for `src/agent/port.ts` also `agent/port` and `src/agent`. */
function pathsOf(files: readonly string[]): ReadonlySet<string> {
  const paths = new Set<string>();
  for (const file of files) {
    const bare = file.replace(/\.\w+$/, '').split('/');
    const whole = file.split('/');
    for (let from = 0; from < whole.length; from += 1) {
      paths.add(whole.slice(from).join('/'));
      for (let to = from + 1; to <= bare.length; to += 1) paths.add(bare.slice(from, to).join('/'));
    }
  }
  return paths;
}

/** Biome's own words must stand in one line. */
const isLongComment = (line: string): boolean =>
  line.length > 120 && (isComment.test(line) || /^\s*# /.test(line)) && !line.includes('biome-ignore');
