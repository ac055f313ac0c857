// Live streams as clients open them: SSE and WebSocket, with messages that fit and ones that do not, read well or
// badly.
import { encode } from '@msgpack/msgpack';
import type { OpenSockets } from './broken.ts';
import { type Codec, clientFrame, StreamReader } from './frames.ts';
import { text } from './material.ts';
import { agentHeader, headerText, type Operation, operations } from './requests.ts';
import { bent, brokenJson, fitting, type Writer } from './schema.ts';
import { shaped, twinned } from './shapes.ts';
import type { Credential } from './world.ts';

export interface StreamPlan {
  readonly codec: Codec;
  /** The request that opens it. */
  readonly opening: Buffer;
  readonly lifeMs: number;
  /** Messages and other frames, and the pause before each (ms). */
  readonly sent: readonly Sent[];
  /** The client reads nothing for so long (ms). */
  readonly deafMs: number;
}

export interface Sent {
  readonly what: string;
  readonly bytes: Buffer;
  readonly afterMs: number;
  /** A result must come, unless the stream ends first. */
  readonly isOwed: boolean;
  /** The hub must end the stream. */
  readonly ends: boolean;
  /** Nobody can tell what follows it: it is the last. */
  readonly confuses?: boolean;
}

export interface StreamEnd {
  readonly reader: StreamReader;
  readonly bytes: number;
  /** True when the hub closed it. */
  readonly closed: boolean;
  /** Messages of which some got no result. */
  readonly unanswered: readonly string[];
  /** A frame that must end the stream, and did not; null otherwise. */
  readonly ignored: string | null;
}

/** How long the result of a message, or the end after a frame that is none, may take. Milliseconds. */
const answerMs = 15_000;

const operation = (name: string): Operation => operations.find((each) => each.name === name) as Operation;
const bodies = {
  events: operation('ingestEvents').body,
  report: operation('reportVersion').body,
  approval: operation('createApproval').body,
};

/** Plans a stream for the credential. @param lastIds positions that the player has seen */
export function streamOf(writer: Writer, credential: Credential, lastIds: readonly string[]): StreamPlan {
  const { random } = writer;
  const isKey = credential.role === 'key' || (credential.tenant === null && random.next() < 0.5);
  const codec = random.pick(['sse', 'json', 'msgpack'] as const);
  const query = new URLSearchParams();
  if (isKey && random.next() < 0.95) query.set('env', credential.env ?? 'production');
  if (random.next() < 0.3) query.set('bundle_name', String(writer.known('bundle_name') ?? 'shared-deploy-1'));
  if (random.next() < 0.3) query.set('policy_version', headerText(text(writer, 60)));
  if (random.next() < 0.2) query.set('tags', JSON.stringify({ [headerText(text(writer, 30))]: 'a' }));
  if (random.next() < 0.05)
    query.set(random.pick(['env', 'tags', 'bundle_name']), random.pick(['', '%', 'x'.repeat(300)]));
  const headers: (readonly [string, string])[] = [...credential.headers];
  const agent = headerText(String(writer.known('agent_id') ?? 'agent'));
  if (isKey) headers.push(['X-Service-Agent-Id', random.next() < 0.9 ? agent : agentHeader(writer)]);
  headers.push(['X-Forwarded-For', `10.8.${random.int(256)}.${random.int(256)}`]);
  if (random.next() < 0.4) {
    const last =
      random.next() < 0.7 && lastIds.length > 0 ? random.pick(lastIds) : random.pick(['0-0', 'x', '1-1']);
    headers.push(['Last-Event-ID', last]);
  }
  if (codec !== 'sse') {
    headers.push(
      ['Upgrade', 'websocket'],
      ['Connection', 'Upgrade'],
      ['Sec-WebSocket-Version', '13'],
      ['Sec-WebSocket-Key', 'dGhlIHNhbXBsZSBub25jZQ=='],
      ['Sec-WebSocket-Protocol', random.next() < 0.97 ? `reeve.v1.${codec}` : 'other'],
    );
  }
  const path = isKey ? '/api/v1/stream' : '/api/v1/stream/dashboard';
  const lines = headers.map(([name, value]) => `${name}: ${value}\r\n`).join('');
  const isDeaf = random.next() < 0.15;
  return {
    codec,
    opening: Buffer.from(`GET ${path}?${query} HTTP/1.1\r\nHost: hub\r\n${lines}\r\n`, 'latin1'),
    lifeMs: 200 + random.int(isDeaf ? 40_000 : 15_000),
    sent:
      codec === 'sse' ? [] : messages(writer, codec).map((one) => (isKey ? one : { ...one, isOwed: false })),
    deafMs: isDeaf ? 20_000 + random.int(20_000) : 0,
  };
}

function messages(writer: Writer, codec: Exclude<Codec, 'sse'>): Sent[] {
  const { random } = writer;
  const many = random.next() < 0.05;
  const count = many ? 200 + random.int(3000) : random.int(12);
  const list: Sent[] = [];
  for (let i = 0; i < count; i++) {
    const one = many || random.next() < 0.7 ? message(writer, codec, i, many) : frame(writer);
    list.push({ ...one, afterMs: many ? 0 : random.int(400) });
    if (one.ends || one.confuses) break;
  }
  return list;
}

type Unpaced = Omit<Sent, 'afterMs'>;

const owed = (sent: readonly Sent[]): readonly Sent[] => sent.filter(({ isOwed }) => isOwed);

/** A message that is answered, right or wrong. */
function message(writer: Writer, codec: Exclude<Codec, 'sse'>, ref: number, small: boolean): Unpaced {
  const { random } = writer;
  const type = random.pick(['events', 'report', 'approval'] as const);
  const isShaped = type === 'events' && !small && random.next() < 0.15;
  const body = small
    ? {}
    : isShaped
      ? shaped(writer, '/events', 'POST')
      : fitting(writer, bodies[type] ?? {});
  const value = { type, ref, body: random.next() < 0.3 ? bent(writer, body) : body };
  const json = JSON.stringify(value);
  // A doubled or folded `ref` or `type` would leave nobody to answer: only the names behind them are changed.
  const bodyAt = json.indexOf('"body":');
  const isTwinned = !small && bodyAt > 0 && random.next() < 0.1;
  const sent = isTwinned ? json.slice(0, bodyAt) + twinned(writer, json.slice(bodyAt)) : json;
  const packed = codec === 'msgpack' ? encode(value, { maxDepth: 10_000 }) : Buffer.from(sent);
  const isOversized = packed.length > 1024 * 1024;
  const bytes = clientFrame(packed, { opcode: codec === 'msgpack' ? 2 : 1 });
  return { what: `${type} of ${packed.length} bytes`, bytes, isOwed: !isOversized, ends: false };
}

const flood = (count: number): Buffer => {
  const one = clientFrame(Buffer.from('{'));
  return Buffer.concat(Array.from({ length: count }, () => one));
};

/** Frames that are no proper message. */
function frame(writer: Writer): Unpaced {
  const { random } = writer;
  const noise = (n: number) => Buffer.from(Array.from({ length: n }, () => random.int(256)));
  const sent = (what: string, bytes: Buffer, ends = false): Unpaced => ({ what, bytes, isOwed: false, ends });
  const confusing = (what: string, bytes: Buffer): Unpaced => ({ ...sent(what, bytes), confuses: true });
  const json = Buffer.from('{"type":"report","ref":1,"body":{}}');
  const kinds: readonly (() => Unpaced)[] = [
    () => sent('broken JSON', clientFrame(brokenJson(writer, json.toString()).subarray(0, 900_000))),
    () => sent('noise as text', clientFrame(noise(random.int(2000)))),
    () => sent('noise as binary', clientFrame(noise(random.int(2000)), { opcode: 2 })),
    () => sent('an unknown type', clientFrame(Buffer.from('{"type":"x","ref":"r"}'))),
    () =>
      sent('a long ref', clientFrame(Buffer.from(JSON.stringify({ type: 'report', ref: 'x'.repeat(5000) })))),
    () =>
      sent(
        'a large array of MessagePack',
        clientFrame(Buffer.from([0xdd, 0x7f, 0xff, 0xff, 0xff]), { opcode: 2 }),
      ),
    () =>
      sent(
        'many values of MessagePack',
        clientFrame(Buffer.concat([Buffer.from([0xdd, 0, 15, 0x42, 0x40]), Buffer.alloc(1_000_000, 0xc0)]), {
          opcode: 2,
        }),
      ),
    () => sent('deep MessagePack', clientFrame(Buffer.alloc(100_000, 0x91), { opcode: 2 })),
    () => confusing('half a message', clientFrame(json.subarray(0, 10), { fin: false })),
    () =>
      sent(
        'a message in pieces',
        Buffer.concat([
          clientFrame(json.subarray(0, 10), { fin: false }),
          clientFrame(json.subarray(10), { opcode: 0 }),
        ]),
      ),
    () => confusing('an unmasked message', clientFrame(json, { masked: false })),
    () => sent('a ping', clientFrame(noise(random.int(120)), { opcode: 9 })),
    () => sent('a pong', clientFrame(noise(random.int(120)), { opcode: 10 })),
    () =>
      sent(
        'many pings',
        Buffer.concat(Array.from({ length: 500 }, () => clientFrame(noise(8), { opcode: 9 }))),
      ),
    () => sent('a flood of bad messages', flood(1000 + random.int(60_000))),
    () => sent('a reserved opcode', clientFrame(json, { opcode: 3 }), true),
    () => sent('reserved bits', clientFrame(json, { reserved: 4 }), true),
    () => sent('a message over 1 MiB', clientFrame(Buffer.alloc(1_048_577, 0x20)), true),
    () => sent('a close', clientFrame(Buffer.from([3, 232]), { opcode: 8 }), true),
    () => sent('a close of one byte', clientFrame(Buffer.from([3]), { opcode: 8 }), true),
    () => sent('a long ping', clientFrame(noise(200), { opcode: 9 }), true),
    () => confusing('noise instead of a frame', noise(300)),
    () => confusing('half a head', Buffer.from([0x81, 0xff, 0, 0])),
  ];
  return random.pick(kinds)();
}

/** Plays a stream to its end. @param hears gets every piece that comes in */
export async function playStream(
  port: number,
  plan: StreamPlan,
  sockets: OpenSockets,
  hears: (bytes: Buffer) => void,
): Promise<StreamEnd> {
  const reader = new StreamReader(plan.codec);
  const socket = sockets.connect(port);
  let bytes = 0;
  let closed = false;
  let wake = (): void => {};
  socket.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    hears(chunk);
    reader.take(chunk);
    wake();
  });
  socket.on('close', () => {
    closed = true;
    wake();
  });
  const until = async (done: () => boolean, ms: number): Promise<void> => {
    const deadline = Date.now() + ms;
    while (!closed && !done() && Date.now() < deadline) {
      await new Promise<void>((resolve) => {
        wake = resolve;
        setTimeout(resolve, deadline - Date.now()).unref();
      });
    }
  };
  socket.write(plan.opening);
  await until(() => reader.head !== null, answerMs);
  const isOpen = reader.head?.status === 101 || (reader.head?.status === 200 && plan.codec === 'sse');
  const endsAt = Date.now() + plan.lifeMs;
  const sent: Sent[] = [];
  let ignored: string | null = null;
  if (isOpen && plan.deafMs > 0) socket.pause();
  if (isOpen) {
    for (const one of plan.sent) {
      if (one.afterMs > 0) await until(() => false, one.afterMs);
      if (closed) break;
      socket.write(one.bytes);
      sent.push(one);
    }
    await until(() => false, plan.deafMs);
    socket.resume();
    const last = sent.at(-1);
    await until(() => reader.results >= owed(sent).length, answerMs);
    if (last?.ends) {
      await until(() => false, answerMs);
      if (!closed && !sockets.ended) ignored = last.what;
    }
    await until(() => false, Math.max(0, endsAt - Date.now()));
  }
  const isUnanswered = !closed && !sockets.ended && reader.results < owed(sent).length;
  const byHub = closed && !sockets.ended;
  socket.destroy();
  const unanswered = isUnanswered ? owed(sent).map(({ what }) => what) : [];
  return { reader, bytes, closed: byHub, unanswered, ignored };
}
