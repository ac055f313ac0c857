// One player: does a seeded step after the other on its own connection, opens streams and broken connections beside it, and judges
// what comes back. A step's choices depend on the seed, the player and the step's number alone.
import { type Random, random as randomOf } from '../random.ts';
import { attackOf, type OpenSockets, play } from './broken.ts';
import type { Findings, Step } from './findings.ts';
import { maxFrameBytes } from './frames.ts';
import {
  type Answer,
  bytesOf,
  HttpConnection,
  type OutgoingRequest,
  readHead,
  type Silence,
} from './http.ts';
import type { Leaks } from './leaks.ts';
import { agentId, name, type Pen } from './material.ts';
import {
  chooseOperation,
  heaped,
  isStream,
  type Operation,
  operations,
  requestOf,
  strayRequest,
  type Wrongness,
} from './requests.ts';
import type { Writer } from './schema.ts';
import { playStream, streamOf } from './streams.ts';
import { type Credential, isAdmitted, operator, strangers, type Tenant } from './world.ts';

/** An answer may not be larger, except a declared download. Bytes. */
const maxAnswerBytes = 4 * 1024 * 1024;
const maxDownloadBytes = 16 * 1024 * 1024;
/** An answer may take this long on a busy machine. Milliseconds. */
const answerMs = 20_000;
/** The hub may close a connection that was quiet for so long while a request is on its way to it. Milliseconds. */
const quietMs = 4_000;
/** A refused body of unknown length ends its connection; one that is still being sent then takes the answer along. Bytes. */
const maxUnreadChunks = 64 * 1024;
const poolSize = 200;
const maxStreams = 8;
const maxAttacks = 12;

/** What all players of a run share. */
export interface Game {
  readonly seed: string;
  readonly port: number;
  readonly tenants: readonly Tenant[];
  readonly leaks: Leaks;
  readonly findings: Findings;
  readonly sockets: OpenSockets;
  /** Ids by tenant and parameter: what others try too. */
  readonly ids: Map<string, Map<string, string[]>>;
  /** Takes bytes of the run's budget for large texts; false when there are none left now. */
  mayBeLarge(): boolean;
  spend(bytes: number): void;
  /** Counts an answer. */
  counted(operation: string, status: number): void;
}

export class Player {
  readonly name: string;
  readonly tenant: Tenant | null;
  readonly #game: Game;
  readonly #pools = new Map<string, string[]>();
  /** What exists, by noun: the path parameters that its routes take. */
  readonly #things = new Map<string, { readonly [param: string]: string }[]>();
  readonly #lastIds: string[] = [];
  readonly #recent: Step[] = [];
  readonly #background = new Set<Promise<void>>();
  #connection: HttpConnection | null = null;
  #streams = 0;
  #attacks = 0;
  #number = 0;
  /** A noun on which the next steps heap things, mostly large ones, as fast as they can. */
  #heap: { readonly tag: string; left: number } | null = null;
  steps = 0;

  constructor(game: Game, name: string, tenant: Tenant | null) {
    this.#game = game;
    this.name = name;
    this.tenant = tenant;
  }

  /** Does the next step. */
  async step(): Promise<void> {
    const random = randomOf(`${this.#game.seed}/${this.name}/${this.#number++}`);
    this.steps++;
    const writer = this.#writer(random);
    if (this.#heap && --this.#heap.left === 0) this.#heap = null;
    if (!this.#heap && this.tenant && random.next() < 0.004)
      this.#heap = { tag: random.pick(heaped), left: 20 + random.int(150) };
    const kind = random.next();
    if (kind < 0.05 && this.#streams < maxStreams) this.#beside(() => this.#stream(writer));
    else if (kind < 0.1 && this.#attacks < maxAttacks) this.#beside(() => this.#attack(writer));
    else if (kind < 0.16) await this.#stray(writer);
    else if (kind < 0.17) await this.#burst(writer);
    else await this.#declared(writer);
  }

  /** True while its steps are not to be slowed down. */
  get isHasty(): boolean {
    return this.#heap !== null;
  }

  /** Waits for all that goes on beside the steps. */
  async settled(): Promise<void> {
    await Promise.all(this.#background);
    this.#connection?.destroy();
    this.#connection = null;
  }

  #beside(play: () => Promise<void>): void {
    const playing = play().finally(() => this.#background.delete(playing));
    this.#background.add(playing);
  }

  #writer(random: Random): Writer {
    const large = random.next() < (this.#heap ? 0.5 : 0.06) && this.#game.mayBeLarge();
    const pen = { random, marker: this.tenant?.marker ?? null, large };
    return {
      ...pen,
      known: (field) => this.#known(random, pen, field),
      thing: (tag) => {
        const things = this.#things.get(tag) ?? [];
        return things.length > 0 && random.next() < 0.6 ? random.pick(things) : {};
      },
    };
  }

  /** A value for a field of this name: of what this player has seen, now and then of what another tenant has. */
  #known(random: Random, pen: Pen, field: string): unknown {
    if (field === 'email') return this.tenant?.email;
    if (field === 'tenant_id') return this.tenant?.id;
    if (field === 'password') return this.tenant?.password;
    const pool =
      { bundle_name: 'name', agent_ids: 'agent_id', keys: 'key', contract_ids: 'contract_id' }[field] ??
      field;
    const isId = pool.endsWith('_id') && pool !== 'agent_id' && pool !== 'contract_id';
    if (isId && random.next() < 0.1) {
      const other = random.pick(this.#game.tenants);
      const theirs = this.#game.ids.get(other.name)?.get(pool) ?? [];
      if (theirs.length > 0) return random.pick(theirs);
    }
    const ours = this.#pools.get(pool) ?? [];
    if (ours.length > 0 && random.next() < 0.8) return random.pick(ours);
    if (pool === 'agent_id') return agentId(pen);
    if (pool === 'name' || pool === 'contract_id' || pool === 'key') return name(pen);
    return undefined;
  }

  /** Mostly one that the route takes. */
  #credential(random: Random, operation: Operation): Credential {
    const own = this.tenant?.credentials ?? [];
    if (operation.route.auth.includes('operatorToken') && random.next() < 0.5) return operator;
    const fit = own.filter(({ role }) => isAdmitted(operation.route, role));
    const chance = random.next();
    if (fit.length > 0 && chance < 0.9) return random.pick(fit);
    return random.pick(own.length > 0 && chance < 0.96 ? own : strangers);
  }

  async #declared(writer: Writer): Promise<void> {
    const { random } = writer;
    const operation = chooseOperation(writer, this.#heap?.tag ?? null);
    const credential = this.#credential(random, operation);
    const chance = random.next();
    const wrongness: Wrongness =
      chance < 0.7 ? 'valid' : chance < 0.85 ? 'bent' : chance < 0.97 ? 'broken' : 'hostile';
    await this.#ask(
      operation.name,
      requestOf(operation, writer, credential, wrongness),
      credential,
      operation,
    );
  }

  async #stray(writer: Writer): Promise<void> {
    const operation = chooseOperation(writer, this.#heap?.tag ?? null);
    const credential = this.#credential(writer.random, operation);
    const request = strayRequest(operation, writer, credential);
    await this.#ask(
      `${request.method} ${request.method === 'OPTIONS' ? '' : operation.name}`,
      request,
      credential,
      null,
    );
  }

  /** The same operation many times at once, each on a connection of its own. */
  async #burst(writer: Writer): Promise<void> {
    const operation = chooseOperation(writer, this.#heap?.tag ?? null);
    const credential = this.#credential(writer.random, operation);
    const count = 5 + writer.random.int(40);
    const requests = Array.from({ length: count }, () => requestOf(operation, writer, credential, 'valid'));
    await Promise.all(
      requests.map(async (request) => {
        const connection = await HttpConnection.open(this.#game.port);
        await this.#askOn(connection, `burst of ${operation.name}`, request, credential, operation);
        connection.destroy();
      }),
    );
  }

  async #ask(
    what: string,
    request: OutgoingRequest,
    credential: Credential,
    operation: Operation | null,
  ): Promise<void> {
    if (!this.#connection || this.#connection.closed)
      this.#connection = await HttpConnection.open(this.#game.port);
    const connection = this.#connection;
    const isQuiet = Date.now() - connection.lastUsedAt > quietMs;
    const answer = await this.#askOn(connection, what, request, credential, operation, isQuiet);
    const isOver =
      typeof answer === 'string' || answer.fault !== null || answer.headers.get('connection') === 'close';
    if (!isOver) return;
    connection.destroy();
    this.#connection = null;
  }

  async #askOn(
    connection: HttpConnection,
    what: string,
    request: OutgoingRequest,
    credential: Credential,
    operation: Operation | null,
    mayBeClosed = false,
  ): Promise<Answer | Silence> {
    const { findings } = this.#game;
    const bytes = bytesOf(request);
    this.#game.spend(bytes.length > 100_000 ? bytes.length : 0);
    const who = `${request.method} ${operation?.name ?? what} as ${credential.role}`;
    const step = findings.begin(`${this.name}:${this.#number - 1}`, who, bytes);
    this.#recent.push(step);
    if (this.#recent.length > 4) this.#recent.shift();
    const answer = await connection.ask(request, answerMs);
    const outcome = typeof answer === 'string' ? answer : `${answer.status}, ${answer.bytes} bytes`;
    findings.end(step, outcome);
    const trace = [step, ...this.#recent.filter((each) => each !== step).reverse()];
    if (typeof answer === 'string') {
      const isLost = request.chunkBytes !== null && bytes.length > maxUnreadChunks;
      if (!(answer === 'closed' && (mayBeClosed || isLost)) && !this.#game.sockets.ended)
        findings.add('no answer', what, `${who}: ${answer}`, trace);
      return answer;
    }
    this.#judge(what, who, request, bytes, answer, credential, operation, trace);
    if (operation && answer.status < 300) this.#learn(operation, request, answer, credential);
    if (answer.status === 401 && operation && isAdmitted(operation.route, credential.role))
      await this.#renew(credential);
    return answer;
  }

  async #renew(credential: Credential): Promise<void> {
    try {
      await credential.renew();
    } catch {
      // A later step tries again.
    }
  }

  #judge(
    what: string,
    who: string,
    request: OutgoingRequest,
    sent: Buffer,
    { status, headers, body, bytes, fault }: Answer,
    { tenant, role }: Credential,
    operation: Operation | null,
    trace: readonly Step[],
  ): void {
    const { findings, leaks } = this.#game;
    const id = headers.get('x-request-id') ?? '';
    this.#game.counted(operation?.name ?? what, status);
    if (status >= 500 && status !== 503)
      findings.add('server error', what, `${who}: ${status}, request ${id}`, trace);
    if (fault !== null) findings.add('malformed', fault, `${who}: ${status}`, trace);
    const isDownload = operation?.route.media !== undefined || request.path === '/api/openapi.json';
    if (bytes > (isDownload ? maxDownloadBytes : maxAnswerBytes))
      findings.add('too large', what, `${who}: ${bytes} bytes`, trace, bytes);
    // What the operator gets is not judged: it is everybody's.
    if (role !== 'operator') {
      // The ids of nodes are everybody's.
      const isShared = operation?.route.tag === 'health';
      const leak = leaks.foreignText(tenant, body) ?? (isShared ? null : leaks.foreignId(tenant, body, sent));
      if (leak !== null) findings.add('leak', what, `${who} of ${tenant}: ${leak}`, trace);
    }
    if (operation && status < 300 && !isAdmitted(operation.route, role))
      findings.add('let in', what, `${who}: ${status}`, trace);
    const isJson = headers.get('content-type')?.startsWith('application/json') && request.method !== 'HEAD';
    if (isJson && !isJsonText(body) && bytes === body.length)
      findings.add('malformed', `${what} ${status}`, `${who}: the body is not JSON`, trace);
  }

  /** Takes ids, names and cursors out of an answer, for later requests. */
  #learn(
    { route }: Operation,
    request: OutgoingRequest,
    { headers, body }: Answer,
    { tenant }: Credential,
  ): void {
    const cursor = headers.get('x-next-cursor');
    if (cursor) this.#keep('cursor', cursor);
    const session = /^\/api\/v1\/sessions\/([^?]+)$/.exec(request.path)?.[1];
    if (session) this.#keep('key', decodeURIComponent(session));
    if (body.length > 200_000 || !headers.get('content-type')?.startsWith('application/json')) return;
    const value: unknown = JSON.parse(body.toString());
    const items = Array.isArray(value) ? value.slice(0, 50) : [value];
    for (const item of items) {
      if (typeof item !== 'object' || item === null) continue;
      const thing: { [param: string]: string } = {};
      for (const [field, found] of Object.entries(item)) {
        const pool = field === 'id' ? idParam.get(route.tag) : (aliases[field] ?? field);
        if (pool === undefined || !params.has(pool)) continue;
        if (typeof found !== 'string' && typeof found !== 'number') continue;
        thing[pool] = String(found);
        this.#keep(pool, String(found));
        if (field === 'id' && tenant !== null) this.#share(tenant, pool, String(found));
      }
      const isBundle = 'bundle_name' in item || 'bundle_version' in item;
      if (Object.keys(thing).length > 0) this.#keepThing(isBundle ? 'bundles' : route.tag, thing);
    }
  }

  #keepThing(tag: string, thing: { readonly [param: string]: string }): void {
    const things = this.#things.get(tag) ?? [];
    things.push(thing);
    if (things.length > poolSize) things.shift();
    this.#things.set(tag, things);
  }

  #keep(pool: string, value: string): void {
    const values = this.#pools.get(pool) ?? [];
    values.push(value);
    if (values.length > poolSize) values.shift();
    this.#pools.set(pool, values);
  }

  #share(tenant: string, pool: string, id: string): void {
    const pools = this.#game.ids.get(tenant) ?? new Map<string, string[]>();
    const ids = pools.get(pool) ?? [];
    ids.push(id);
    if (ids.length > poolSize) ids.shift();
    this.#game.ids.set(tenant, pools.set(pool, ids));
  }

  async #attack(writer: Writer): Promise<void> {
    this.#attacks++;
    const { findings, leaks, port, sockets } = this.#game;
    const operation = chooseOperation(writer, this.#heap?.tag ?? null);
    const credential = this.#credential(writer.random, operation);
    const attack = attackOf(requestOf(operation, writer, credential, 'valid'), writer.random);
    const all = Buffer.concat(attack.pieces.map(({ bytes }) => bytes));
    this.#game.spend(all.length > 100_000 ? all.length : 0);
    const step = findings.begin(
      `${this.name}:${this.#number - 1}`,
      `${attack.shape}, ${operation.name}`,
      all,
    );
    const { received, bytes, closed } = await play(port, attack, sockets);
    const head = readHead(received);
    findings.end(step, `${head?.status ?? 'nothing'}, ${bytes} bytes, ${closed ? 'closed' : 'held open'}`);
    this.#attacks--;
    if (!closed) findings.add('held open', attack.shape, `${operation.name}: ${bytes} bytes came`, [step]);
    if (attack.isOwed && bytes === 0 && !sockets.ended)
      findings.add('no answer', attack.shape, operation.name, [step]);
    if (bytes > 0 && (head === null || head.fault !== null) && !sockets.ended)
      findings.add('malformed', attack.shape, head?.fault ?? 'the head has no end', [step]);
    if (head && head.status >= 500 && head.status !== 503 && head.status !== 505)
      findings.add('server error', attack.shape, `${operation.name}: ${head.status}`, [step]);
    const leak = credential.role === 'operator' ? null : leaks.foreignText(credential.tenant, received);
    if (leak !== null) findings.add('leak', attack.shape, leak, [step]);
  }

  async #stream(writer: Writer): Promise<void> {
    this.#streams++;
    const { random } = writer;
    const { findings, leaks, port, sockets } = this.#game;
    const operation = random.pick(operations.filter(isStream));
    const credential = this.#credential(random, operation);
    const plan = streamOf(writer, credential, this.#lastIds);
    const place = `stream ${plan.codec}`;
    const step = findings.begin(
      `${this.name}:${this.#number - 1}`,
      `${place} as ${credential.role}, then ${plan.sent.map(({ what }) => what).join(', ')}`.slice(0, 400),
      plan.opening,
    );
    let leak: string | null = null;
    let tail = Buffer.alloc(0);
    const end = await playStream(port, plan, sockets, (bytes) => {
      const looked = Buffer.concat([tail, bytes]);
      leak ??= leaks.foreignText(credential.tenant, looked);
      tail = looked.subarray(-leaks.overlap);
    });
    const { reader, closed, unanswered, ignored } = end;
    const types = [...reader.types].map(([type, count]) => `${count} ${type}`).join(', ');
    findings.end(
      step,
      `${reader.head?.status ?? 'nothing'}, ${end.bytes} bytes: ${types}; ${closed ? 'closed' : 'open'}`,
    );
    this.#streams--;
    if (reader.lastId !== '') this.#lastIds.push(reader.lastId);
    if (this.#lastIds.length > 20) this.#lastIds.shift();
    const status = reader.head?.status ?? 0;
    this.#game.counted(place, status);
    if (leak !== null) findings.add('leak', place, leak, [step]);
    if (reader.fault !== null) findings.add('malformed', place, reader.fault, [step]);
    if (reader.largest > maxFrameBytes)
      findings.add('too large', place, `a frame of ${reader.largest} bytes`, [step], reader.largest);
    if (status === 0 && !sockets.ended)
      findings.add('no answer', place, closed ? 'closed' : 'silence', [step]);
    if (status >= 500 && status !== 503) findings.add('server error', place, `${status}`, [step]);
    if (unanswered.length > 0)
      findings.add('no answer', `${place} message`, unanswered.slice(0, 5).join(', '), [step]);
    if (ignored !== null) findings.add('held open', `${place} after ${ignored}`, ignored, [step]);
  }
}

/** Names of all path parameters. */
const params = new Set(
  operations.flatMap(({ route }) =>
    [...route.path.matchAll(/\{(\w+)\+?\}/g)].map(([, param]) => param ?? ''),
  ),
);

/** Fields whose values other routes take by another name. */
const aliases: { readonly [field: string]: string } = {
  bundle_name: 'name',
  bundle_version: 'version',
  latest_version: 'version',
};

/** Tag → the parameter that takes the `id` of its things. */
const idParam = new Map(
  operations.flatMap(({ route, params: schema }) =>
    Object.entries(schema.properties ?? {})
      .filter(([, { format }]) => format === 'uuid')
      .map(([param]): [string, string] => [route.tag, param]),
  ),
);

function isJsonText(body: Buffer): boolean {
  if (body.length > 1_000_000) return true;
  try {
    JSON.parse(body.toString());
    return true;
  } catch {
    return false;
  }
}
