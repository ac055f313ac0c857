// Which file may import which: the law of layers. A noun has a room, src/<noun>, whose files are named by layer.
// A layer that outgrows one file is a folder with the layer's name.

/** Folders below src that are no noun's room. */
const commonFolders = ['shared', 'admission', 'http', 'hub', 'dashboard'];

/**
 * layer → layers that it may import from, beside src/shared. "own" is the same noun's room; "type" takes no value. The
 * hosted API of a noun takes parts that both APIs share from the noun's console, never the reverse.
 */
const law: { readonly [layer: string]: readonly string[] } = {
  record: ['record'],
  rules: ['record', 'rules'],
  port: ['record', 'rules', 'port'],
  note: ['record', 'rules', 'port'],
  'use-cases': [
    'record',
    'rules',
    'port',
    'note',
    'own use-cases',
    'type use-cases',
    'actors/protocol',
    'admission',
  ],
  jobs: ['record', 'rules', 'port', 'note', 'own use-cases', 'admission'],
  console: ['record', 'rules', 'own use-cases', 'type use-cases', 'console', 'http', 'admission'],
  hosted: [
    'record',
    'rules',
    'own use-cases',
    'type use-cases',
    'own console',
    'hosted',
    'http',
    'admission',
  ],
  frames: ['record', 'rules', 'own console', 'own hosted', 'own frames', 'http'],
  shared: [
    'type admission',
    'type record',
    'type rules',
    'type port',
    'type use-cases',
    'type actors/protocol',
  ],
  admission: ['own admission', 'type http', 'type record'],
  http: ['admission', 'record', 'rules', 'http', 'type port', 'type use-cases', 'type actors/protocol'],
  // Above the nouns' frames, which import parts of http: only the hub imports it.
  'frame collection': ['http', 'frames', 'frame collection'],
  // Runs in browsers: rules that need no server, types of the API, and the generated client.
  dashboard: [
    'record',
    'rules',
    'dashboard',
    'agent package',
    'agent rules',
    'type console',
    'type hosted',
    'type http',
    'type hub',
  ],
  'actors/runtime': ['actors/runtime', 'port', 'record', 'rules', 'admission'],
  'actors/protocol': ['actors/runtime', 'port', 'record', 'rules'],
  actors: ['actors', 'actors/protocol', 'actors/runtime', 'record', 'rules', 'port', 'admission'],
  adapters: ['own adapters', 'adapters/threads', 'record', 'rules', 'port', 'admission'],
  'adapters/threads': [],
  'adapters/uws': ['own adapters', 'record', 'rules', 'port', 'http', 'admission'],
  'adapters/node-http': ['own adapters', 'record', 'rules', 'port', 'http', 'admission'],
  'agent rules': ['agent rules'],
  'agent package': ['agent package', 'agent rules'],
  // Uses the hub and the agent library as anybody else would.
  demo: ['demo', 'hub'],
};

/** Files of src/http that collect the nouns' frames. */
const frameCollections = /^src\/http\/(?:contract\/(?:hosted-)?frames|live\/(?:console|hosted)-frames)\.ts$/;

interface Place {
  readonly layer: string;
  /** The noun, or the adapter's folder. */
  readonly room: string;
}

function placeOf(file: string): Place {
  const [top = '', second = '', third = ''] = file.split('/');
  if (top === 'actors' && second.startsWith('protocol')) return { layer: 'actors/protocol', room: top };
  if (top === 'actors' && second === 'runtime') return { layer: 'actors/runtime', room: top };
  if (top === 'adapters')
    return { layer: `adapters/${second}` in law ? `adapters/${second}` : top, room: second };
  if (top === 'packages')
    return {
      layer: /^packages\/agent\/src\/rules\b/.test(file) ? 'agent rules' : 'agent package',
      room: top,
    };
  if (top !== 'src') return { layer: top, room: top };
  if (frameCollections.test(file)) return { layer: 'frame collection', room: second };
  if (commonFolders.includes(second)) return { layer: second, room: second };
  return { layer: third.replace(/\.ts$/, ''), room: second };
}

/** Only src/hub and src/main.ts may import from everywhere. */
const seesAll = (file: string): boolean => /^src\/(?:hub\/|main\.ts|client\.ts|version\.ts)/.test(file);

/** @param isType whether the import takes types alone */
export function mayImport(from: string, to: string, isType: boolean): boolean {
  if (seesAll(from)) return true;
  const source = placeOf(from);
  const target = placeOf(to);
  if (target.layer === 'shared' && from.startsWith('packages/') === false) return true;
  const granted = law[source.layer] ?? [];
  if (granted.includes(target.layer)) return true;
  if (source.room === target.room && granted.includes(`own ${target.layer.replace(/\/.*/, '')}`)) return true;
  return isType && granted.includes(`type ${target.layer}`);
}
