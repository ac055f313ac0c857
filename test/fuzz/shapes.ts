// Bodies of particular shapes that a schema does not suggest: wide, deep and long ones, doubled and folded member
// names, the hub's own words, manifests about their bounds, costly patterns, presses in chats.
import {
  agentId,
  costlyYaml,
  instant,
  object,
  oddAgentId,
  type Pen,
  text,
  uuid,
  wideObject,
} from './material.ts';
import type { Writer } from './schema.ts';

/** The hub judges a press by its age. One reading a process, so that a seed gives the same requests. Seconds. */
const startedAt = Math.floor(Date.now() / 1000);

type Shape = (writer: Writer) => unknown;

/** Fields that only the hub writes, beside those of events to come. */
const hubWords = [
  'sample',
  'truncated',
  'outcomes',
  'extra',
  'seq',
  'received_at',
  'sent_by',
  'environment',
  'id',
];

/** An object within an object, a bit over or far over the depth that is stored. */
function deepObject({ random }: Pen): object {
  let deep: object = { end: 1 };
  for (let i = random.pick([60, 64, 65, 500, 2000]); i > 0; i--)
    deep = random.int(9) === 0 ? [deep] : { a: deep };
  return deep;
}

function heavyPayload(pen: Pen): object {
  const { random } = pen;
  switch (random.int(4)) {
    case 0:
      return { tool_args: wideObject(pen) };
    case 1:
      return wideObject(pen);
    case 2:
      return { tool_args: deepObject(pen) };
    default:
      return {
        tool_args: {
          [text(pen, 100_000)]: 1,
          command: `${text(pen, 100)}${'x'.repeat(random.int(200_000))}`,
        },
      };
  }
}

function event(writer: Writer): { [field: string]: unknown } {
  const { random, marker } = writer;
  return {
    call_id: `${marker ?? 'nobody'}-${random.int(1e9)}`,
    agent_id: random.next() < 0.3 ? oddAgentId(writer) : agentId(writer),
    tool_name: random.pick(['read', 'shell', 'mail']),
    verdict: random.pick(['call_allowed', 'call_denied', 'call_executed']),
    timestamp: instant(writer),
  };
}

/** Fields at the top of an event, as many as there are words and some of the agent's own. */
function flatFields(writer: Writer): object {
  const { random } = writer;
  const chosen = random.shuffle(hubWords).slice(0, 1 + random.int(hubWords.length));
  const value = (): unknown =>
    random.pick([true, 7, null, [{ verdict: 'call_allowed' }], object(writer, 200), text(writer, 9000)]);
  return {
    ...Object.fromEntries(chosen.map((word) => [word, value()])),
    action: 'call_denied',
    tool: 'shell',
  };
}

/** Patterns about and over the bounds of a manifest: 2,000 patterns, 64 KiB. */
function manifest(writer: Writer): object {
  const { random } = writer;
  const count = random.pick([1999, 2000, 2001, 5000]);
  const perContract = random.pick([1, 100, 2000]);
  const tail = 'a'.repeat(random.pick([1, 20, 40, 200]));
  const globs = Array.from({ length: count }, (_, i) => `*${i}*${tail}*`);
  const contracts = [];
  for (let at = 0; at < count; at += perContract)
    contracts.push({
      id: `wide-${at}`,
      type: 'pre',
      tool: globs.slice(at, at + perContract),
      mode: 'enforce',
    });
  return { agent_id: agentId(writer), policy_version: text(writer, 60), contracts };
}

const events: readonly Shape[] = [
  (writer) => ({ events: [{ ...event(writer), payload: heavyPayload(writer) }] }),
  (writer) => ({
    events: Array.from({ length: 30 }, () => ({
      ...event(writer),
      payload: { tool_args: wideObject(writer, 150) },
    })),
  }),
  (writer) => ({ events: [{ ...event(writer), ...wideObject(writer) }] }),
  (writer) => ({ events: Array.from({ length: 5 }, () => ({ ...event(writer), ...flatFields(writer) })) }),
  (writer) => ({ events: [event(writer)], agent_manifest: manifest(writer) }),
];

const evaluations: readonly Shape[] = [
  (writer) => {
    const costly = 'a'.repeat(writer.random.pick([100, 10_000, 100_000]));
    return {
      yaml_content: costlyYaml(writer),
      tool_name: 'shell',
      tool_args: { path: costly, command: `${costly} b` },
    };
  },
  (writer) => ({
    yaml_content: costlyYaml(writer),
    tool_name: 'shell',
    tool_args: wideObject(writer),
    output: wideObject(writer),
  }),
];

/** A press on a button, as each chat platform sends one; its approval may be another tenant's, or none. */
const presses: readonly Shape[] = [
  (writer) => ({
    callback_query: { id: '1', data: button(writer, ':'), from: { id: writer.random.int(1e9) } },
  }),
  (writer) => {
    const actions = [{ action_id: button(writer, '_'), value: approvalOf(writer) }];
    return { type: 'block_actions', user: { id: 'U1' }, team: { id: 'T1' }, actions };
  },
  (writer) => ({ type: 3, data: { custom_id: button(writer, '_') }, member: { user: { id: '1' } } }),
  () => ({ type: 1 }),
];

const approvalOf = (writer: Writer): string => String(writer.known('approval_id') ?? uuid(writer));
const button = (writer: Writer, joint: string): string =>
  `service_${writer.random.pick(['approve', 'deny', 'open'])}${joint}${approvalOf(writer)}`;

function shapesOf(path: string, method: string): readonly Shape[] {
  if (method !== 'POST') return [];
  if (path.endsWith('/events')) return events;
  return path.endsWith('/bundles/evaluate') ? evaluations : [];
}

export const hasShapes = (path: string, method: string): boolean => shapesOf(path, method).length > 0;

/** A value of a particular shape for the route, which must have some. */
export const shaped = (writer: Writer, path: string, method: string): unknown =>
  writer.random.pick(shapesOf(path, method))(writer);

/** A chat platform's message, without a signature or with a wrong one. */
export function press(
  writer: Writer,
  path: string,
): { bytes: Buffer; type: string; headers: [string, string][] } {
  const { random } = writer;
  const json = JSON.stringify(random.pick(presses)(writer));
  const isForm = path.includes('workspace_chat') && random.next() < 0.8;
  const at = String(startedAt + random.pick([0, 250, -600]));
  const signatures: [string, string][][] = [
    [],
    [
      ['X-Slack-Request-Timestamp', at],
      ['X-Slack-Signature', `v0=${'a'.repeat(64)}`],
    ],
    [
      ['X-Signature-Timestamp', at],
      ['X-Signature-Ed25519', 'b'.repeat(128)],
    ],
    [['X-Telegram-Bot-Api-Secret-Token', 'c'.repeat(40)]],
  ];
  return {
    bytes: Buffer.from(isForm ? `payload=${encodeURIComponent(json)}` : json),
    type: isForm ? 'application/x-www-form-urlencoded' : 'application/json',
    headers: random.pick(signatures),
  };
}

/** JSON whose member names are doubled, or fold to the name of another member. */
export function twinned({ random }: Pen, json: string): string {
  const names = [...json.matchAll(/"(\w{2,40})":/g)];
  if (names.length === 0) return json;
  const { 0: member, 1: name = '', index } = random.pick(names.slice(0, 50));
  const folded = name.replace('s', '\u017f').replace('k', '\u212a');
  const twin = random.pick([name, folded, name.toUpperCase(), `${name}\\u017f`, `\\u0061${name}`]);
  const value = random.pick(['null', '"x"', '1e400', '[]', '{"a":1}']);
  const isAlone = random.next() < 0.3;
  return isAlone
    ? `${json.slice(0, index)}"${twin}":${json.slice(index + member.length)}`
    : `${json.slice(0, index)}"${twin}":${value},${json.slice(index)}`;
}
