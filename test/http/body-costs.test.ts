// The cost of bodies for the event loop, whatever their shape: on every route that takes one and on the agents'
// WebSocket, in multiples of one JSON.parse of the same body. Work that grows faster than its body fails here, and so
// does work on a large body that leaves no turn for others.
import { encode } from '@msgpack/msgpack';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createBudgets } from '../../src/admission/byte-budgets.ts';
import type { Caller } from '../../src/http/contract/call.ts';
import { defaultBody, type RouteDeclaration } from '../../src/http/contract/route.ts';
import { createCors } from '../../src/http/headers.ts';
import { createIdempotency } from '../../src/http/idempotency.ts';
import { oneApi } from '../../src/http/live/announcer.ts';
import { consoleFrames } from '../../src/http/live/console-frames.ts';
import { createLive } from '../../src/http/live/live.ts';
import type { Session } from '../../src/http/live/session.ts';
import { createMetrics } from '../../src/http/metrics.ts';
import { createPipeline, type Pipeline } from '../../src/http/pipeline.ts';
import { bind } from '../../src/http/serve.ts';
import { agentStreamsOf } from '../../src/hub/agent-streams.ts';
import { handlers } from '../../src/hub/api/console-handlers.ts';
import { eventStreams } from '../../src/hub/api/event-stream-handlers.ts';
import { apiFamilies } from '../../src/hub/api/families.ts';
import { hostedHandlers } from '../../src/hub/api/hosted-handlers.ts';
import { streamHandlers } from '../../src/hub/api/stream-handlers.ts';
import { materialOf, type Shape, shapes } from '../body-material.ts';
import { makeHub, type TestHub, type UserCaller } from '../harness.ts';
import { silentLog } from '../log.ts';
import { isNightly, rowsOfRun } from '../runs.ts';
import { type Cost, measureTurns, median, timeOf } from '../turn-clock.ts';
import { holesOf, pathOf, takesBody } from './body-requests.ts';
import { raw } from './fixtures.ts';

/** Bytes of the material: over the bound of a payload, so that both sizes are treated alike, and 16 times that. */
const smallSize = 66_000;
const largeSize = defaultBody - 4096;
/** The bound of a large body's cost by that of a small one, both in multiples of a parse. */
const maxGrowth = 1.5;
/** The bound of one turn's cost, in parses of the large body. */
const maxTurnParses = 8;
/** Measurements that the middle one is taken of, and how often that is repeated before it counts. */
const readings = 5;
const repeats = 3;

const routes: [operation: string, route: RouteDeclaration][] = apiFamilies
  .flatMap(({ routes: table }): [string, RouteDeclaration][] => Object.entries(table))
  // A route that takes less has no large body.
  .filter(([, route]) => takesBody(route) && (route.bodyLimit ?? defaultBody) >= largeSize / 2);

let t: TestHub;
let user: UserCaller;
let pipeline: Pipeline;
/** Opens an agent's WebSocket; calls `answered` with each answer. */
let openSocket: (codec: SocketCodec, answered: () => void) => Promise<Session>;
type SocketCodec = 'json' | 'msgpack';
const ids: { [param: string]: string } = {};
const materials = new Map<string, { readonly text: string; readonly parseMs: number }>();

/** The caller that a route takes first. */
function callerOf({ auth }: Pick<RouteDeclaration, 'auth'>): Caller {
  switch (auth[0]) {
    case 'cookie':
      return user;
    case 'key':
      return t.key(user);
    case 'hostedKey':
      return t.hostedKey(user);
    case 'operatorJwt':
      return t.operator(user);
    case 'operatorToken':
      return { kind: 'operator' };
    default:
      return { kind: 'none' };
  }
}

/** The least cost of a body: it comes as bytes, and a long text in it is decoded more slowly than it is parsed. */
function parseMs(text: string): number {
  const bytes = Buffer.from(text);
  return median(Array.from({ length: readings }, () => timeOf(() => JSON.parse(bytes.toString()))));
}

beforeAll(async () => {
  t = await makeHub({ maxAgents: 1_000_000, newAgentsPerMinute: 1_000_000 });
  user = await t.tenant();
  const { hub, clock } = t;
  const identified = (route: Pick<RouteDeclaration, 'auth'>) => ({ caller: callerOf(route), cookie: null });
  const agentStreams = streamHandlers(hub, agentStreamsOf(hub, 'n1'));
  const streams = { ...agentStreams, ...eventStreams(hub) };
  const budgets = createBudgets();
  const live = createLive({
    budgets,
    broadcast: t.broadcast,
    api: oneApi(consoleFrames('hex')),
    handlers: streams,
    clock,
    log: silentLog,
    isStillValid: async () => true,
  });
  pipeline = createPipeline({
    families: apiFamilies,
    serve: { ...bind(hub, handlers), ...bind(hub, hostedHandlers) },
    callers: {
      find: async (route) => identified(route),
      remembered: identified,
      checkCsrf: () => {},
      hasCookie: () => false,
      isStillValid: async () => true,
      control: () => {},
      flush: async () => {},
      close: async () => {},
    },
    rateLimits: hub.app.rateLimits,
    idempotency: createIdempotency({
      store: hub.store.idempotency,
      secrets: hub.secrets,
      clock,
      log: silentLog,
    }),
    live,
    streams,
    cors: createCors('http://localhost:8000', [], []),
    metrics: createMetrics(),
    secrets: hub.secrets,
    clock,
    log: silentLog,
    trustedProxies: [],
    openApi: () => Buffer.from('{}'),
    budgets,
  });
  openSocket = async (codec, answered) => {
    const key = t.key(user);
    const id = hub.secrets.uuid();
    const session = await live.open({
      admitted: await streams.admitAgent(key, { env: key.env }, id),
      caller: key,
      codec,
      protocol: null,
      lastEventId: null,
      revocationSequence: live.revocationSequence(),
    });
    session.attach({
      write(piece) {
        if (Buffer.from(piece).includes('result')) answered();
        return true;
      },
      end: () => {},
      cut: () => {},
    });
    return session;
  };
  for (const shape of shapes) {
    for (const size of [smallSize, largeSize]) {
      const text = materialOf(shape, size);
      materials.set(`${shape} ${size}`, { text, parseMs: parseMs(text) });
    }
  }
}, 60_000);
afterAll(async () => {
  await t.close();
});

let requests = 0;

/** One request, whatever its answer. */
function send(route: RouteDeclaration, body: string): Promise<Cost> {
  const bytes = Buffer.from(body);
  const headers: { [name: string]: string } = { 'content-type': 'application/json' };
  if (route.idempotent) headers['idempotency-key'] = `request-${requests++}`;
  const path = pathOf(route, ids);
  return measureTurns(() => pipeline.handle(raw(route.method, `${path}?env=production`, headers, bytes)));
}

/** One message on a socket of its own. */
async function say(codec: SocketCodec, body: string): Promise<Cost> {
  const bytes = Buffer.from(codec === 'json' ? body : encode(JSON.parse(body), { maxDepth: 10_000 }));
  let answered: () => void = () => {};
  const answer = new Promise<void>((resolve) => {
    answered = resolve;
  });
  const socket = await openSocket(codec, answered);
  const cost = await measureTurns(() => {
    socket.received(bytes, codec === 'msgpack');
    return answer;
  });
  socket.gone();
  return cost;
}

/** Limits count by the minute, and this is not about them. */
const nextMinute = (): void => void t.clock.advance(120_000);

interface Measured {
  readonly totalParses: number;
  readonly turnParses: number;
}

/** The middle one of some measurements, in parses. */
async function measure(
  shape: Shape,
  size: number,
  count: number,
  run: (material: string) => Promise<Cost>,
): Promise<Measured> {
  const material = materials.get(`${shape} ${size}`);
  if (!material) throw new Error('no such material');
  const unit = count === 1 ? material.parseMs : parseMs(material.text);
  const costs: Cost[] = [];
  for (let i = 0; i < count; i++) {
    nextMinute();
    costs.push(await run(material.text));
  }
  return {
    totalParses: median(costs.map(({ totalMs }) => totalMs)) / unit,
    turnParses: median(costs.map(({ longestTurnMs }) => longestTurnMs)) / unit,
  };
}

/** Of a body that costs no more than this in all nothing grows that matters. Parses. */
const cheapParses = 4;

const isFine = (small: Measured, large: Measured): boolean =>
  large.turnParses <= maxTurnParses && large.totalParses <= maxGrowth * small.totalParses;

/** Null, or the numbers of a body that costs too much whenever it is measured. */
async function excessOf(shape: Shape, run: (material: string) => Promise<Cost>): Promise<object | null> {
  const first = await measure(shape, largeSize, 1, run);
  if (first.totalParses <= cheapParses) return null;
  let excess: object | null = null;
  for (let attempt = 0; attempt <= repeats; attempt++) {
    const count = attempt === 0 ? 1 : readings;
    const small = await measure(shape, smallSize, count, run);
    const large = attempt === 0 ? first : await measure(shape, largeSize, count, run);
    if (isFine(small, large)) return null;
    excess = { small, large };
  }
  return excess;
}

let places = 0;
/** Per commit each place takes a twelfth of the shapes, and each shape comes in a twelfth of the places. */
const isTaken = (place: number, shape: number): boolean => isNightly || (place + shape) % 12 === 0;

async function judge(
  holes: ReturnType<typeof holesOf>,
  run: (body: string) => Promise<Cost>,
): Promise<readonly object[]> {
  const excesses: object[] = [];
  for (const { path, shapes: fitting, fill } of holes) {
    const place = places++;
    for (const shape of fitting.filter((_, i) => isTaken(place, i))) {
      const excess = await excessOf(shape, (material) => run(fill(material)));
      if (excess) excesses.push({ path, shape, ...excess });
    }
  }
  return excesses;
}

it.each(routes)(
  '%s: a large body costs what its parts cost, in short turns',
  async (_operation, route) => {
    const excess = await judge(holesOf(route.body), (body) => send(route, body));
    expect(excess).toEqual([]);
  },
  60_000,
);

/** Bodies of some MiB, larger than any other route takes. Bytes. */
const hugeSize = 4 * 1024 * 1024;
const hugeBodies: readonly (readonly [what: string, body: (material: string) => string, shape: Shape])[] = [
  ...shapes.map(
    (shape) => [`a payload, ${shape}`, (it: string) => `{"events":[{"payload":${it}}]}`, shape] as const,
  ),
  ['a flat event', (it) => `{"events":[{"action":"x","a":${it},"b":{"c":${it}}}]}`, 'texts'],
  ['fields of a flat event', (it) => `{"events":[{"action":"x",${it.slice(1)}]}`, 'wide'],
  ['beside the events', (it) => `{"a":${it},"agent_manifest":${it},"events":[{}]}`, 'mixed'],
  ['members of the body', (it) => it, 'wide'],
  ['a text in place of the body', (it) => it, 'long'],
  ['a text as a key', (it) => `{${it}:1,"events":[{${it}:1,"call_id":${it}}]}`, 'long'],
  ['blanks', () => `{${' '.repeat(hugeSize)}"events":[{"a":${' '.repeat(hugeSize)}1}]}`, 'wide'],
  ['events of 64 KiB', () => `{"events":[${Array(80).fill(largeEvent).join(',')}]}`, 'texts'],
];
const largeEvent = `{"payload":{"text":"${'lorem ipsum \\n '.repeat(4500)}"}}`;

/** Both APIs read events by the same code: per commit the larger bodies go to one of them. */
const eventRoutes = routes.filter(([, { path }]) => path.endsWith('/events'));

it.each(isNightly ? eventRoutes : eventRoutes.slice(0, 1))(
  '%s: a body that is larger still takes no longer turns',
  async (_operation, route) => {
    const excesses: object[] = [];
    for (const [what, bodyOf, shape] of rowsOfRun(hugeBodies, 3)) {
      const body = bodyOf(materialOf(shape, hugeSize));
      let turnParses = Number.POSITIVE_INFINITY;
      for (let attempt = 0; attempt <= repeats && turnParses > maxTurnParses; attempt++) {
        nextMinute();
        const { longestTurnMs } = await send(route, body);
        turnParses = Math.min(
          turnParses,
          longestTurnMs / parseMs(materials.get(`${shape} ${largeSize}`)?.text ?? ''),
        );
      }
      if (turnParses > maxTurnParses) excesses.push({ what, turnParses });
    }
    expect(excesses).toEqual([]);
  },
  120_000,
);

/** Deeper than the encoder goes. */
const isWritable = (codec: SocketCodec, shape: Shape): boolean => codec === 'json' || shape !== 'abyss';

it.each(
  (['json', 'msgpack'] as const).flatMap((codec) =>
    ['events', 'report', 'approval'].map((type) => [codec, type] as const),
  ),
)(
  "an agent's socket: %s, %s",
  async (codec, type) => {
    const holes = holesOf(undefined).map(({ shapes: fitting, ...hole }) => ({
      ...hole,
      shapes: fitting.filter((shape) => isWritable(codec, shape)),
    }));
    const excess = await judge(holes, (body) => say(codec, `{"type":"${type}","ref":1,"body":${body}}`));
    expect(excess).toEqual([]);
  },
  60_000,
);
