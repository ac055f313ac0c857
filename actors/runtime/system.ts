// The actors of one process: finds or wakes the activation of a key, carries effects away, lets the idle go. Between
// processes, `remote.ts` decides whose key it is and uses `receive`, `carry` and `release` here. Keeps promises P2, P3
// and P5.

import { refusalOf } from '../../src/admission/admission.ts';
import { outageOf } from '../../src/admission/outages.ts';
import { admissionTable } from '../../src/admission/table.ts';
import { HubError } from '../../src/shared/error.ts';
import type { Announcer } from '../../src/shared/ports/announcer.ts';
import type { Broadcast } from '../../src/shared/ports/broadcast.ts';
import { type Clock, pause, type Timer, upTo } from '../../src/shared/ports/clock.ts';
import type { Jobs } from '../../src/shared/ports/jobs.ts';
import { leaseMs } from '../../src/shared/ports/leases.ts';
import type { Log } from '../../src/shared/ports/log.ts';
import {
  Activation,
  type ActorRuntime,
  type KindRuntime,
  moved,
  rebuildMessage,
  wakeMessage,
} from './activation.ts';
import { Asks } from './asks.ts';
import type { Actors, Effects, Kinds, Messages, Tell } from './define.ts';
import type { ActorKind } from './kind.ts';

export interface ActorsOptions<K extends Kinds, Ports> {
  readonly definitions: { readonly [Kind in keyof K]: ActorKind<K[Kind], Ports> };
  readonly ports: Ports;
  readonly clock: Clock;
  readonly announcer: Announcer;
  readonly broadcast: Pick<Broadcast, 'control'>;
  readonly jobs?: Pick<Jobs, 'add'>;
  readonly log: Log;
  /** Takes the tells among the effects; by default they go to this process's own actors. */
  readonly carry?: (tell: Tell) => Promise<void>;
  /** False for a key that another node owns: its messages are refused then, its timers do nothing, its effects stay. */
  readonly mayAct?: (key: string) => boolean;
  /** The epoch under which this process owns a key; 0 by default. */
  readonly epochOf?: (key: string) => number;
  /** A handler ended after its key was lost: the key's owner must build its state again. */
  readonly lost?: (kind: string, key: string) => void;
  /**
   * Takes a message that waited here when its key became another node's, and answers its asker; refuses by default.
   */
  readonly forward?: ActorRuntime<Ports>['forward'];
  /** Messages that may wait per key; 1,000 by default. Timers come on top. */
  readonly mailboxCap?: number;
  /** 5 s by default. */
  readonly askTimeoutMs?: number;
}

export interface ActorSystem<K extends Kinds> extends Actors<K> {
  /** As `tell`, for a message that came from elsewhere and has lost its types. */
  send(tell: Tell): Promise<void>;
  /** As `ask`, for a message that came from elsewhere and has lost its types. */
  receive(message: Tell): Promise<unknown>;
  /**
   * As `receive`, without a limit of time: settles when the message was handled, or refused. `abandoned` true: nobody
   * waits, it is not handled.
   */
  handle(message: Tell, abandoned: () => boolean): Promise<unknown>;
  /** Resolves when nothing is at work or waits at these keys, or after `ms`. */
  quiet(which: (key: string) => boolean, ms: number): Promise<void>;
  /** Forgets the activations that `keep` refuses (their shard went to another node), and forwards waiting messages. */
  release(keep: (kind: string, key: string) => boolean): void;
  /** How many activations are in memory. */
  readonly size: number;
  /**
   * Refuses what comes (`shutting_down`), finishes what is in the mailboxes for up to `graceMs` (5 s), clears timers.
   */
  stop(graceMs?: number): Promise<void>;
}

/** The typed way to actors over the untyped one: the types are held here and nowhere after. */
export const actorsOver = <K extends Kinds>(
  receive: (message: Tell) => Promise<unknown>,
  send: (tell: Tell) => Promise<void>,
): Actors<K> => ({
  ask: <Kind extends keyof K & string, T extends keyof K[Kind] & string>(
    kind: Kind,
    key: string,
    type: T,
    body: K[Kind][T]['body'],
  ) => receive({ kind, key, type, body }) as Promise<K[Kind][T]['reply']>,
  tell: (kind, key, type, body) => send({ kind, key, type, body }),
});

/**
 * A tell that finds a full mailbox is tried again this often, 50 times; so many may wait so. Later tells may overtake
 * it.
 */
const retryMs = 100;
const retries = 50;
const retriesAtOnce = 10_000;
/** Until a patient message is given up. */
const patientTimeoutMs = 30_000;
/**
 * Effects that cannot leave are tried again this often, until the key is lost or could be. Nobody else would send them,
 * because their write is done, and a repeat of the request may change nothing more.
 */
const emitAgainMs = 250;
/** How long an idle activation stays, and up to a quarter longer. */
const idleMs = 60_000;

const shuttingDown = () => outageOf('actorsClosed');

class LocalActors<K extends Kinds, Ports> implements ActorSystem<K> {
  readonly #options: ActorsOptions<K, Ports>;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #announcer: Announcer;
  readonly #broadcast: Pick<Broadcast, 'control'>;
  readonly #jobs: ActorsOptions<K, Ports>['jobs'];
  readonly #mayAct: (key: string) => boolean;
  readonly #kinds: Map<string, KindRuntime<Ports>>;
  readonly #activations = new Map<string, Map<string, Activation<Ports>>>();
  readonly #asks: Asks;
  readonly #patientAsks: Asks;
  #retrying = 0;
  #stopping = false;
  #stopped = false;
  readonly #carry: (tell: Tell) => Promise<void>;
  readonly #noting = new Set<Promise<unknown>>();
  readonly #passivation: Timer;
  readonly #typed = actorsOver<K>(
    (message) => this.receive(message),
    (tell) => this.send(tell),
  );
  readonly ask = this.#typed.ask;
  readonly tell = this.#typed.tell;

  constructor(options: ActorsOptions<K, Ports>) {
    this.#options = options;
    const { clock, log, announcer, broadcast, jobs } = options;
    const mailboxCap = options.mailboxCap ?? admissionTable.mailboxes.bounds[0].waiting;
    this.#clock = clock;
    this.#log = log;
    this.#announcer = announcer;
    this.#broadcast = broadcast;
    this.#jobs = jobs;
    this.#mayAct = options.mayAct ?? (() => true);
    this.#asks = new Asks(clock, options.askTimeoutMs ?? 5000);
    this.#patientAsks = new Asks(clock, patientTimeoutMs);
    this.#carry = options.carry ?? (async (tell: Tell) => this.#carryHere(tell));
    const runtime: ActorRuntime<Ports> = {
      startedAt: clock.now(),
      ports: options.ports,
      clock,
      now: () => clock.now(),
      log,
      mailboxCap,
      emit: (key, effects) => this.#emit(key, effects),
      mayAct: this.#mayAct,
      epochOf: options.epochOf ?? (() => 0),
      lost: options.lost ?? (() => {}),
      forward: options.forward ?? ((_message, ask) => ask?.reject(moved())),
    };
    const kinds: [string, ActorKind<Messages, Ports>][] = Object.entries(options.definitions);
    this.#kinds = new Map(kinds.map(([name, kind]) => [name, { ...runtime, kind }]));
    for (const name of this.#kinds.keys()) this.#activations.set(name, new Map());
    this.#passivation = clock.every(idleMs / 4, () => {
      const before = clock.now() - idleMs;
      for (const ofKind of this.#activations.values()) {
        for (const [key, actor] of ofKind) if (actor.idleSince(before)) ofKind.delete(key);
      }
    });
  }

  async quiet(which: (key: string) => boolean, ms: number): Promise<void> {
    let late = false;
    const atWork = () => [...this.#all()].flatMap((actor) => (which(actor.key) ? (actor.work ?? []) : []));
    // An actor that ends may have sent messages to others, so look again until all is quiet.
    const rest = async () => {
      for (let work = atWork(); work.length > 0 && !late; work = atWork()) await Promise.all(work);
    };
    await upTo(this.#clock, ms, rest());
    late = true;
  }

  receive(message: Tell): Promise<unknown> {
    return (
      this.#kinds.get(message.kind)?.kind.isPatient(message.type) ? this.#patientAsks : this.#asks
    ).wait((ask) => {
      if (this.#stopping) throw shuttingDown();
      const { type, body } = message;
      if (!this.#activation(message).enqueue({ type, body, ask })) ask.reject(refusalOf('mailboxes'));
    });
  }

  handle(message: Tell, abandoned: () => boolean): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#stopping) throw shuttingDown();
      const ask = {
        kept: true,
        get abandoned() {
          return abandoned();
        },
        resolve,
        reject,
      };
      if (!this.#activation(message).enqueue({ type: message.type, body: message.body, ask }))
        reject(refusalOf('mailboxes'));
    });
  }

  async send(tell: Tell): Promise<void> {
    if (this.#stopping) throw shuttingDown();
    if (!this.#enqueue(tell)) throw refusalOf('mailboxes');
  }

  get size(): number {
    let size = 0;
    for (const ofKind of this.#activations.values()) size += ofKind.size;
    return size;
  }

  release(keep: (kind: string, key: string) => boolean): void {
    const reason = moved();
    for (const [kind, ofKind] of this.#activations) {
      for (const [key, actor] of ofKind) {
        if (keep(kind, key)) continue;
        ofKind.delete(key);
        actor.stop(reason);
      }
    }
  }

  async stop(graceMs = 5000): Promise<void> {
    this.#stopping = true;
    this.#passivation.cancel();
    const until = this.#clock.monotonic() + graceMs;
    await this.quiet(() => true, graceMs);
    await upTo(this.#clock, until - this.#clock.monotonic(), Promise.all(this.#noting));
    this.#stopped = true;
    for (const actor of this.#all()) actor.stop(shuttingDown());
    for (const ofKind of this.#activations.values()) ofKind.clear();
  }

  #activation({ kind: name, key, type }: Tell): Activation<Ports> {
    const runtime = this.#kinds.get(name);
    const ofKind = this.#activations.get(name);
    const bare = type === wakeMessage || type === rebuildMessage;
    if (!runtime || !ofKind || !(bare || runtime.kind.knows(type)))
      throw new HubError('internal', `No actor takes ${name}.${type}.`);
    let actor = ofKind.get(key);
    if (!actor) {
      actor = new Activation(key, runtime);
      ofKind.set(key, actor);
    }
    return actor;
  }

  #enqueue(tell: Tell): boolean {
    return this.#activation(tell).enqueue({ type: tell.type, body: tell.body, ask: null });
  }

  #carryHere(tell: Tell, tries = 0): void {
    if (!this.#stopped && this.#enqueue(tell)) return;
    if (this.#stopped || tries >= retries || this.#retrying >= retriesAtOnce) {
      const why = this.#stopped ? 'shut down' : 'mailbox full';
      this.#log.error(
        { kind: tell.kind, actor: tell.key, type: tell.type, why },
        'lost a message to an actor',
      );
      return;
    }
    this.#retrying++;
    this.#clock.after(retryMs, () => {
      this.#retrying--;
      this.#carryHere(tell, tries + 1);
    });
  }

  #note(writing: Promise<unknown>): void {
    const noted = writing
      .catch((err: unknown) => this.#log.warn({ err }, 'cannot record that effects were sent'))
      .finally(() => this.#noting.delete(noted));
    this.#noting.add(noted);
  }

  /** Sends all, also after a failure; then throws the first one. */
  async #emit(key: string, effects: Effects): Promise<void> {
    const failures: unknown[] = [];
    const until = this.#clock.monotonic() + leaseMs;
    const whileOurs = (send: () => Promise<void>) => this.#sendWhileOurs(key, until, send);
    const leave = async (send: () => Promise<void>) =>
      whileOurs(send).catch((error: unknown) => failures.push(error));
    const { announcements = [], control = [], tells = [] } = effects;
    if (announcements.length > 0) await leave(() => this.#announcer.announce(announcements));
    for (const message of control) await leave(() => this.#broadcast.control(message));
    // All are handed over before the first is awaited, so that their order is kept.
    const carried = tells.map((tell) =>
      whileOurs(() => this.#carry(tell)).catch((err: unknown) => {
        this.#log.error(
          { err, kind: tell.kind, actor: tell.key, type: tell.type },
          'lost a message to an actor',
        );
        if (this.#options.carry) failures.push(err);
      }),
    );
    await Promise.all(carried);
    for (const job of effects.jobs ?? []) {
      await leave(async () => {
        if (!this.#jobs) throw new HubError('internal', 'No job queue is configured.');
        await this.#jobs.add(job);
      });
    }
    if (failures.length > 0) throw failures[0];
    if (effects.onSent) this.#note(effects.onSent());
  }

  async #sendWhileOurs(key: string, until: number, send: () => Promise<void>): Promise<void> {
    for (;;) {
      try {
        return await send();
      } catch (error) {
        const isAway = error instanceof HubError && error.code === 'unavailable';
        const isLate = this.#stopped || this.#clock.monotonic() >= until;
        if (!isAway || isLate || !this.#mayAct(key)) throw error;
      }
      await pause(this.#clock, emitAgainMs);
    }
  }

  *#all() {
    for (const ofKind of this.#activations.values()) yield* ofKind.values();
  }
}

export const createActors = <K extends Kinds, Ports>(options: ActorsOptions<K, Ports>): ActorSystem<K> =>
  new LocalActors<K, Ports>(options);
