// The parts of requests: names, texts, JSON, YAML, patterns. Drawn from a seeded source; every text carries its
// tenant's marker.
import type { Random } from '../random.ts';
import { markerIn } from './leaks.ts';

/** Whose texts are written, and how large they may be. */
export interface Pen {
  readonly random: Random;
  /** In every text that the pen writes; null for those who have no tenant. */
  readonly marker: string | null;
  /** The environment of the key that sends the texts: said behind the marker. Null for people. */
  readonly env: string | null;
  /** Large texts cost the run's budget: true when this step may write some. */
  readonly large: boolean;
}

const words = 'deploy read write mail order shell query report agent policy secret token path'.split(' ');
const odd = ['ünïcödé', '漢字', '😀', '\u202e', 'a\nb', '\t', '<b>', '{args.path}', '%00', '../..', '"'];
const secrets = ['password=hunter2', 'Bearer abc.def.ghi', 'AKIAIOSFODNN7EXAMPLE', 'postgres://u:p@h/db'];

/** A name that several tenants use, so that their things meet under one name. Holds no marker. */
export const sharedName = ({ random }: Pen): string => `shared-${random.pick(words)}-${random.int(6)}`;

/** A name of lower-case letters, digits and hyphens. */
export function name(pen: Pen): string {
  const { random, marker } = pen;
  return marker === null || random.next() < 0.5 ? sharedName(pen) : `${marker}-${random.int(40)}`;
}

export function text(pen: Pen, max: number): string {
  const { random, marker, env, large } = pen;
  const parts = [marker === null ? 'nobody' : markerIn(marker, env), random.pick(words)];
  if (random.next() < 0.3) parts.push(random.pick(odd));
  if (random.next() < 0.1) parts.push(random.pick(secrets));
  const said = parts.join(' ');
  const size = random.next();
  if (size < 0.05 || (large && size < 0.3)) return `${said} ${'x'.repeat(max)}`.slice(0, Math.max(0, max));
  return said.slice(0, Math.max(0, max));
}

/** Any JSON. @param bytes about how many */
export function json(pen: Pen, bytes: number, depth = 0): unknown {
  const { random } = pen;
  const kind = random.int(depth > 6 ? 5 : 8);
  if (kind === 0) return random.pick([null, true, false, 0, -1, 1.5, 1e308, 2 ** 53, '']);
  if (kind === 1) return random.int(1_000_000);
  if (kind < 5) return text(pen, Math.max(1, bytes));
  const count = 1 + random.int(Math.min(12, 1 + Math.floor(bytes / 40)));
  if (kind === 5) return Array.from({ length: count }, () => json(pen, bytes / count, depth + 1));
  return object(pen, bytes, count, depth);
}

export function object(
  pen: Pen,
  bytes: number,
  count = 1 + pen.random.int(5),
  depth = 0,
): { [name: string]: unknown } {
  const { random } = pen;
  const names = ['path', 'url', 'command', 'password', 'accessToken', 'query', 'content', 'data', 'amount'];
  return Object.fromEntries(
    Array.from({ length: count }, (_, i) => [
      random.next() < 0.7 ? random.pick(names) : `${text(pen, 40)}${i}`,
      json(pen, bytes / count, depth + 1),
    ]),
  );
}

const patterns = [
  '^/etc/',
  '\\.(env|pem)$',
  '(a+)+$',
  '(a|aa)*b',
  '(.*)*x',
  '[a-z]{1,100}',
  '(x{1,50}){1,20}',
  'AKIA[0-9A-Z]{16}',
];
const globs = ['*', 'a*', '*a', '*-prod-*', '*a*a*a*a*', '?'.repeat(20), '[ab]*', 'shared-*'];

export const glob = ({ random }: Pen): string =>
  random.next() < 0.2 ? '*a'.repeat(1 + random.int(63)) : random.pick(globs);

/** An agent's id. */
export function agentId(pen: Pen): string {
  const { random } = pen;
  const kind = random.int(10);
  if (kind === 0) return 'a'.repeat(1 + random.int(255));
  return kind < 4 ? `${name(pen)}.${random.int(10_000)}` : name(pen);
}

/** An agent's id that is no identifier. */
export function oddAgentId(pen: Pen): string {
  const { random } = pen;
  const id = name(pen);
  const ids = [
    `${id} b`,
    `${id}\u0001`,
    `${id}\u007f`,
    ` ${id}`,
    `${id}\u202e`,
    `${id}/../x`,
    '\ud800',
    'é',
    '',
  ];
  return random.pick([...ids, 'a'.repeat(256)]);
}

/** Thousands of small members. */
export function wideObject({ random, marker }: Pen, count = random.pick([150, 2000, 6000, 20_000])): object {
  const value = random.pick([0, '', null, marker ?? 'nobody']);
  return Object.fromEntries(Array.from({ length: count }, (_, i) => [`m${i}`, value]));
}

function condition(pen: Pen, depth = 0): object {
  const { random } = pen;
  const nested = () => condition(pen, depth + 1);
  switch (random.int(depth > 3 ? 6 : 9)) {
    case 0:
      return { 'args.path': { matches: random.pick(patterns) } };
    case 1:
      return { 'args.command': { matches_any: [random.pick(patterns), random.pick(patterns)] } };
    case 2:
      return { 'args.amount': { gt: random.int(1000), lte: 1e6 } };
    case 3:
      return { 'tool.name': { in: random.shuffle(words).slice(0, 3) } };
    case 4:
      return { [random.pick(['args.url', 'principal.role', 'metadata.a'])]: { contains: text(pen, 50) } };
    case 5:
      // Several conditions in one mapping.
      return { 'args.a': { contains: 'a', starts_with: 'b' }, 'args.b': { gt: 1, lt: 5 } };
    case 6:
      return { all: [nested(), nested()] };
    case 7:
      return { any: [nested(), nested(), nested()] };
    default:
      return { not: nested() };
  }
}

/** A contract without its id. */
export function definition(pen: Pen, type: string = pen.random.pick(['pre', 'post', 'session', 'sandbox'])) {
  const { random } = pen;
  const message = text(pen, 400).replaceAll('\u202e', '');
  const tools = random.shuffle([...words, '*', 'read_*']).slice(0, 1 + random.int(3));
  switch (type) {
    case 'session':
      return {
        type,
        limits: { max_tool_calls: 1 + random.int(1000), max_calls_per_tool: { mail: 3 } },
        then: { effect: 'deny', message },
      };
    case 'sandbox':
      return {
        type,
        tools,
        within: ['/workspace'],
        allows: { commands: ['ls', 'git'] },
        outside: 'deny',
        message,
      };
    case 'post':
      return {
        type,
        tool: tools[0],
        when: { 'output.text': { matches: random.pick(patterns) } },
        then: { effect: 'warn', message },
      };
    default:
      return {
        type: 'pre',
        tool: tools[0],
        when: condition(pen),
        then: { effect: random.pick(['deny', 'approve']), message, tags: [text(pen, 30)] },
      };
  }
}

/** A bundle as YAML; JSON is YAML, and large ones grow by comments or by contracts. */
export function yaml(pen: Pen): string {
  const { random, large } = pen;
  const count = 1 + random.int(large ? 60 : 5);
  const document = {
    apiVersion: 'service/v1',
    kind: 'ContractBundle',
    metadata: { name: name(pen), description: text(pen, 200) },
    defaults: { mode: random.pick(['enforce', 'observe']) },
    contracts: Array.from({ length: count }, (_, i) => ({
      id: `${random.pick(words)}-${i}`,
      ...definition(pen),
    })),
  };
  const comments = large
    ? `# ${(pen.marker ?? 'nobody').repeat(4)}\n`.repeat(random.int(9000))
    : `# ${pen.marker}\n`;
  return comments + JSON.stringify(document, null, random.int(3));
}

/** A bundle whose patterns cost many steps for each character. */
export function costlyYaml(pen: Pen): string {
  const { random } = pen;
  const costly = ['(a{1,30}){1,30}b', '(.*a){20}', '(a|aa|aaa){1,40}b', '[a-z]{1,200}[0-9]{1,200}'];
  const matches = (selector: string) => ({
    [selector]: { matches_any: random.shuffle([...costly, ...patterns]) },
  });
  const contracts = Array.from({ length: 1 + random.int(20) }, (_, i) => ({
    id: `costly-${i}`,
    type: 'pre',
    tool: '*',
    when: { any: [matches('args.path'), matches('args.command'), condition(pen)] },
    then: { effect: 'deny', message: 'costly' },
  }));
  const head = { apiVersion: 'service/v1', kind: 'ContractBundle', metadata: { name: name(pen) } };
  return JSON.stringify({ ...head, defaults: { mode: 'enforce' }, contracts });
}

/** A time within the last day, now and then far away. */
export function instant({ random }: Pen): string {
  const spread = random.next() < 0.1 ? 1e12 : 86_400_000;
  const at = new Date(Date.UTC(2026, 10, 21) - random.int(spread)).toISOString();
  return random.pick([at, at.replace('Z', '+02:00'), at.slice(0, 19), at.slice(0, 10)]);
}

export function uuid({ random }: Pen): string {
  const hex = (n: number): string => Array.from({ length: n }, () => random.int(16).toString(16)).join('');
  return `${hex(8)}-${hex(4)}-4${hex(3)}-8${hex(3)}-${hex(12)}`;
}
