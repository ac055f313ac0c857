// One player: does a seeded step after the other on its own connection, and opens streams and broken connections beside
// it. A step's choices depend on the seed, the player, the step's number, and what the player has seen.
import { defaultBody } from '../../src/http/contract/route.ts';
import { type Random, random as randomOf } from '../random.ts';
import { attackOf, type OpenSockets, play } from './broken.ts';
import { type Hand, type Results, withoutOptional } from './deck.ts';
import type { Findings, Step } from './findings.ts';
import { type Answer, bytesOf, HttpConnection, type OutgoingRequest, type Silence } from './http.ts';
import { Judge } from './judge.ts';
import type { Leaks } from './leaks.ts';
import {
  chooseOperation,
  heaped,
  isStream,
  type Operation,
  operations,
  requestOf,
  requestWithoutRoute,
  type Wrongness,
} from './requests.ts';
import type { Writer } from './schema.ts';
import type { Seen } from './seen.ts';
import { playStream, streamOf } from './streams.ts';
import { type Credential, isAdmitted, operator, strangers, type Tenant } from './world.ts';

/** An answer may take this long on a busy machine. Milliseconds. */
const answerMs = 20_000;
/** The hub may close a connection that was quiet for so long while a request is on its way to it. Milliseconds. */
const quietMs = 4_000;
/** A client that sends a long body of unknown length may lose the answer with its connection. Bytes. */
const maxUnreadChunks = 64 * 1024;
/** Tasks beside the steps of one player. */
const maxStreams = 8;
const maxAttacks = 12;

/** State that all players of a run share. */
export interface Game extends Results {
  readonly seed: string;
  readonly port: number;
  readonly tenants: readonly Tenant[];
  readonly leaks: Leaks;
  readonly findings: Findings;
  readonly sockets: OpenSockets;
  /** False when the bytes for large texts are spent for now. */
  mayBeLarge(): boolean;
  spend(bytes: number): void;
  /** Counts an answer. */
  counted(operation: string, status: number): void;
  /** How long the program got no processor since the start. */
  readonly sleptMs: () => number;
}

/** The work of a step: an operation (null: no declared one), by whom, and where findings of it belong. */
interface Deed {
  readonly place: string;
  readonly operation: Operation | null;
  readonly credential: Credential;
}

export class Player {
  readonly name: string;
  readonly tenant: Tenant | null;
  readonly #game: Game;
  readonly #judge: Judge;
  readonly #seen: Seen;
  readonly #hand: Hand | null;
  readonly #recent: Step[] = [];
  readonly #background = new Set<Promise<void>>();
  #connection: HttpConnection | null = null;
  /** `Game.sleptMs` when the connection was used last. */
  #sleptMs = 0;
  #streams = 0;
  #attacks = 0;
  /** A resource on which the next steps heap things, mostly large ones, as fast as they can. */
  #heap: { readonly tag: string; left: number } | null = null;
  /** Steps begun. */
  steps = 0;

  /**
   * @param seen what the players of its tenant have seen
   * @param hand the operations that it asks first; null: none
   */
  constructor(game: Game, name: string, tenant: Tenant | null, seen: Seen, hand: Hand | null) {
    this.#game = game;
    this.#judge = new Judge(game.findings, game.leaks, game.sockets);
    this.#seen = seen;
    this.#hand = hand;
    this.name = name;
    this.tenant = tenant;
  }

  /** Does the next step. */
  async step(): Promise<void> {
    const random = randomOf(`${this.#game.seed}/${this.name}/${this.steps++}`);
    if (this.#heap && --this.#heap.left === 0) this.#heap = null;
    if (!this.#heap && this.tenant && random.next() < 0.004)
      this.#heap = { tag: random.pick(heaped), left: 20 + random.int(150) };
    const writer = this.#writer(random);
    const kind = random.next();
    if (kind < 0.05 && this.#streams < maxStreams) this.#beside(() => this.#stream(writer));
    else if (kind < 0.1 && this.#attacks < maxAttacks) this.#beside(() => this.#attack(writer));
    else if (kind < 0.16) await this.#withoutRoute(writer);
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
    const pen = { random, marker: this.tenant?.marker ?? null, env: null, large };
    return {
      ...pen,
      known: (field) => this.#seen.known(pen, field),
      thing: (tag) => this.#seen.thing(random, tag),
    };
  }

  /** The player: mostly somebody whom the route takes. */
  #credential(random: Random, operation: Operation): Credential {
    const own = this.tenant?.credentials ?? [];
    const fitting = this.#fitting(random, operation);
    const chance = random.next();
    if (fitting && (fitting === operator || chance < 0.9)) return fitting;
    return random.pick(own.length > 0 && chance < 0.96 ? own : strangers);
  }

  /** Somebody whom the route takes; null: nobody of the player's own. */
  #fitting(random: Random, { route }: Operation): Credential | null {
    const isForOperator = route.auth.includes('operatorToken');
    if (isForOperator && random.next() < 0.5) return operator;
    const fit = (this.tenant?.credentials ?? []).filter(({ role }) => isAdmitted(route, role));
    return fit.length > 0 ? random.pick(fit) : isForOperator ? operator : null;
  }

  /** An operation, who does it, and the writer of its texts. */
  #choice(writer: Writer) {
    const operation = chooseOperation(writer, this.#heap?.tag ?? null, this.#game.isReached);
    const credential = this.#credential(writer.random, operation);
    return { operation, credential, writer: writerAs(writer, credential) };
  }

  async #declared(open: Writer): Promise<void> {
    const dealt = this.#hand?.next(this.#game);
    if (dealt) return this.#dealt(dealt, open);
    const { operation, credential, writer } = this.#choice(open);
    const chance = writer.random.next();
    const wrongness: Wrongness =
      chance < 0.7 ? 'valid' : chance < 0.85 ? 'bent' : chance < 0.97 ? 'broken' : 'hostile';
    const request = requestOf(operation, writer, credential, wrongness);
    await this.#ask({ place: operation.name, operation, credential }, request);
  }

  /** A request that should succeed: of somebody whom the route takes, about what exists, without optional fields. */
  async #dealt(operation: Operation, open: Writer): Promise<void> {
    const credential = this.#fitting(open.random, operation) ?? this.#credential(open.random, operation);
    const writer: Writer = {
      ...writerAs(open, credential),
      large: false,
      known: (field) => this.#seen.known(open, field, true),
      thing: (tag) => this.#seen.thing(open.random, tag, true),
    };
    const request = requestOf(withoutOptional(operation), writer, credential, 'valid');
    await this.#ask({ place: operation.name, operation, credential }, request);
  }

  async #withoutRoute(open: Writer): Promise<void> {
    const { operation, credential, writer } = this.#choice(open);
    const request = requestWithoutRoute(operation, writer, credential);
    await this.#ask({ place: `${request.method} without a route`, operation: null, credential }, request);
  }

  /** The same operation many times at once, each on a connection of its own. */
  async #burst(open: Writer): Promise<void> {
    const { operation, credential, writer } = this.#choice(open);
    const count = 5 + writer.random.int(40);
    const requests = Array.from({ length: count }, () => requestOf(operation, writer, credential, 'valid'));
    const deed = { place: `burst of ${operation.name}`, operation, credential };
    await Promise.all(
      requests.map(async (request) => {
        const connection = await HttpConnection.open(this.#game.port);
        await this.#askOn(connection, deed, request, false);
        connection.destroy();
      }),
    );
  }

  async #ask(deed: Deed, request: OutgoingRequest): Promise<void> {
    if (!this.#connection || this.#connection.closed)
      this.#connection = await HttpConnection.open(this.#game.port);
    const connection = this.#connection;
    // Text that came while the program slept is read late: the connection may have been idle for longer than it seems.
    const hasSlept = this.#game.sleptMs() > this.#sleptMs;
    this.#sleptMs = this.#game.sleptMs();
    const isQuiet = hasSlept || Date.now() - connection.lastUsedAt > quietMs;
    const answer = await this.#askOn(connection, deed, request, isQuiet);
    const isOver =
      typeof answer === 'string' || answer.fault !== null || answer.headers.get('connection') === 'close';
    if (!isOver) return;
    connection.destroy();
    this.#connection = null;
  }

  /** @param isQuiet the connection may be closed by the time the request arrives */
  async #askOn(
    connection: HttpConnection,
    { place, operation, credential }: Deed,
    request: OutgoingRequest,
    isQuiet: boolean,
  ): Promise<Answer | Silence> {
    const { findings } = this.#game;
    const sent = bytesOf(request);
    const step = this.#begin(`${request.method} ${operation?.name ?? place} as ${credential.role}`, sent);
    const sleptBefore = this.#game.sleptMs();
    const answer = await connection.ask(request, answerMs);
    const hasSlept = this.#game.sleptMs() > sleptBefore;
    findings.end(step, typeof answer === 'string' ? answer : `${answer.status}, ${answer.bytes} bytes`);
    this.#recent.push(step);
    if (this.#recent.length > 4) this.#recent.shift();
    const trace = [step, ...this.#recent.filter((each) => each !== step).reverse()];
    if (typeof answer === 'string') {
      const bodyLimit = operation?.route.bodyLimit ?? defaultBody;
      // The refusal of a body over the limit is lost when the connection closes while it is still being sent.
      const isOverLimit = (request.body?.length ?? 0) > bodyLimit;
      const isLost = isOverLimit || (request.chunkBytes !== null && sent.length > maxUnreadChunks);
      // An export of everything may take longer than a player waits.
      const isLong = operation?.route.download === true && answer === 'cut short';
      const isExplained = hasSlept || isLong || (answer === 'closed' && (isQuiet || isLost));
      this.#judge.silence(place, answer, isExplained, trace);
      return answer;
    }
    const isHead = request.method === 'HEAD';
    this.#game.counted(operation?.name ?? place, answer.status);
    this.#judge.answer({ place, operation, credential, path: request.path, sent, isHead }, answer, trace);
    if (operation && answer.status < 300) this.#seen.learn(operation, request, answer, credential);
    if (answer.status === 401 && operation && isAdmitted(operation.route, credential.role))
      // Where it fails, a later step tries again.
      await credential.renew().catch(() => undefined);
    return answer;
  }

  #begin(what: string, sent: Buffer): Step {
    if (sent.length > 100_000) this.#game.spend(sent.length);
    return this.#game.findings.begin(`${this.name}:${this.steps - 1}`, what, sent);
  }

  async #attack(open: Writer): Promise<void> {
    this.#attacks++;
    const { operation, credential, writer } = this.#choice(open);
    const attack = attackOf(requestOf(operation, writer, credential, 'valid'), writer.random);
    const sent = Buffer.concat(attack.pieces.map(({ bytes }) => bytes));
    const step = this.#begin(`${attack.shape}, ${operation.name} as ${credential.role}`, sent);
    const ending = await play(this.#game.port, attack, this.#game.sockets);
    const { received, bytes, closed } = ending;
    const status = received.toString('latin1', 9, 12) || 'nothing';
    this.#game.findings.end(step, `${status}, ${bytes} bytes, ${closed ? 'closed' : 'held open'}`);
    this.#judge.attack(attack, ending, operation, credential, step);
    this.#attacks--;
  }

  async #stream(open: Writer): Promise<void> {
    this.#streams++;
    const operation = open.random.pick(operations.filter(isStream));
    const credential = this.#credential(open.random, operation);
    const plan = streamOf(writerAs(open, credential), credential, this.#seen.positions);
    const place = `stream ${plan.codec}`;
    const messages = plan.sent.map(({ what }) => what).join(', ');
    const step = this.#begin(`${place} as ${credential.role}, then ${messages}`.slice(0, 400), plan.opening);
    let leak: string | null = null;
    let tail = Buffer.alloc(0);
    const sleptBefore = this.#game.sleptMs();
    const end = await playStream(this.#game.port, plan, this.#game.sockets, (bytes) => {
      const looked = Buffer.concat([tail, bytes]);
      leak ??= this.#judge.leak(credential, operation, looked);
      tail = looked.subarray(-this.#judge.overlap);
    });
    const { reader, bytes, closed } = end;
    const status = reader.head?.status ?? 0;
    const types = [...reader.types].map(([type, count]) => `${count} ${type}`).join(', ');
    this.#game.findings.end(step, `${status}, ${bytes} bytes: ${types}; ${closed ? 'closed' : 'open'}`);
    this.#game.counted(place, status);
    this.#seen.position(reader.lastId);
    // Of a stream without a head this was all that it took.
    const isExcused = status === 0 && this.#game.sleptMs() > sleptBefore;
    this.#judge.stream(place, end, { leak, isExcused }, step);
    this.#streams--;
  }
}

/** A writer of texts that a key of its environment sends. */
const writerAs = (writer: Writer, { env }: Credential): Writer => ({ ...writer, env });
