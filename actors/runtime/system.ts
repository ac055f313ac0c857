// The actors of one process: finds or wakes the activation of a key, carries effects away, lets the idle go. Between
// processes, `remote.ts` decides whose key it is and uses `receive`, `carry` and `release` here. Keeps promises P2, P3
// and P5.
import { refusalOf } from '../../src/admission/admission.ts';
import { admissionTable } from '../../src/admission/table.ts';
import { HubError } from '../../src/shared/error.ts';
import type { Announcer } from '../../src/shared/ports/announcer.ts';
import type { Broadcast } from '../../src/shared/ports/broadcast.ts';
import { type Clock, upTo } from '../../src/shared/ports/clock.ts';
import type { Jobs } from '../../src/shared/ports/jobs.ts';
import type { Log } from '../../src/shared/ports/log.ts';
import { Activation, type ActorRuntime, moved, rebuildMessage, wakeMessage } from './activation.ts';
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
  /** Takes the tells among the effects; unless given they go to this process's own actors. */
  readonly carry?: (tell: Tell) => Promise<void>;
  /** False for a key that another node owns: its messages are refused then, its timers do nothing, its effects stay. */
  readonly mayAct?: (key: string) => boolean;
  /** The epoch under which this process owns a key; 0 by default. */
  readonly epochOf?: (key: string) => number;
  /** A handler ended after its key was lost: the key's owner must build its state again. */
  readonly lost?: (kind: string, key: string) => void;
  /**
   * Takes a message that waited here when its key became another node's, and answers its asker; refused unless given.
   */
  readonly forward?: ActorRuntime<Ports>['forward'];
  /** Messages that may wait per key; 1,000 by default. Timers come on top. */
  readonly mailboxCap?: number;
  /** 5 s by default. */
  readonly askTimeoutMs?: number;
  /** The same for patient messages; 30 s by default. */
  readonly patientTimeoutMs?: number;
  /** How long an idle activation stays; 60 s by default, and up to a quarter longer. */
  readonly idleMs?: number;
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
  /** Forgets the activations that `keep` refuses (their shard went to another node); what waits there is forwarded. */
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

const shuttingDown = () => new HubError('shutting_down', 'The hub is shutting down.', { retryAfter: 1 });

export function createActors<K extends Kinds, Ports>(options: ActorsOptions<K, Ports>): ActorSystem<K> {
  const {
    clock,
    log,
    announcer,
    broadcast,
    jobs,
    mailboxCap = admissionTable.mailboxes.bounds[0].waiting,
    idleMs = 60_000,
  } = options;
  const kinds = new Map<string, ActorKind<Messages, Ports>>(Object.entries(options.definitions));
  const activations = new Map<string, Map<string, Activation<Ports>>>();
  for (const kind of kinds.keys()) activations.set(kind, new Map());
  const asks = new Asks(clock, options.askTimeoutMs ?? 5000);
  const patientAsks = new Asks(clock, options.patientTimeoutMs ?? 30_000);
  let retrying = 0;
  let stopping = false;
  let stopped = false;

  const activation = ({ kind: name, key, type }: Tell): Activation<Ports> => {
    const kind = kinds.get(name);
    const ofKind = activations.get(name);
    const bare = type === wakeMessage || type === rebuildMessage;
    if (!kind || !ofKind || !(bare || kind.knows(type)))
      throw new HubError('internal', `No actor takes ${name}.${type}.`);
    let actor = ofKind.get(key);
    if (!actor) {
      actor = new Activation(kind, key, runtime);
      ofKind.set(key, actor);
    }
    return actor;
  };

  const enqueue = (tell: Tell): boolean =>
    activation(tell).enqueue({ type: tell.type, body: tell.body, ask: null });

  const carryHere = (tell: Tell, tries = 0): void => {
    if (!stopped && enqueue(tell)) return;
    if (stopped || tries >= retries || retrying >= retriesAtOnce) {
      const why = stopped ? 'shut down' : 'mailbox full';
      log.error({ kind: tell.kind, actor: tell.key, type: tell.type, why }, 'lost a message to an actor');
      return;
    }
    retrying++;
    clock.after(retryMs, () => {
      retrying--;
      carryHere(tell, tries + 1);
    });
  };
  const carry = options.carry ?? (async (tell: Tell) => carryHere(tell));

  const noting = new Set<Promise<unknown>>();
  const note = (writing: Promise<unknown>): void => {
    const noted = writing
      .catch((err: unknown) => log.warn({ err }, 'cannot record that effects were sent'))
      .finally(() => noting.delete(noted));
    noting.add(noted);
  };

  /** Sends all, also after a failure; then throws the first one. */
  const emit = async (effects: Effects): Promise<void> => {
    const failures: unknown[] = [];
    const leave = async (send: () => Promise<void>) => send().catch((error: unknown) => failures.push(error));
    const { announcements = [], control = [], tells = [] } = effects;
    if (announcements.length > 0) await leave(() => announcer.announce(announcements));
    for (const message of control) await leave(() => broadcast.control(message));
    // All are handed over before the first is awaited, so that their order is kept.
    const carried = tells.map((tell) =>
      carry(tell).catch((err: unknown) => {
        log.error({ err, kind: tell.kind, actor: tell.key, type: tell.type }, 'lost a message to an actor');
        if (options.carry) failures.push(err);
      }),
    );
    await Promise.all(carried);
    for (const job of effects.jobs ?? []) {
      await leave(async () => {
        if (!jobs) throw new HubError('internal', 'No job queue is configured.');
        await jobs.add(job);
      });
    }
    if (failures.length > 0) throw failures[0];
    if (effects.onSent) note(effects.onSent());
  };

  const runtime: ActorRuntime<Ports> = {
    ports: options.ports,
    clock,
    now: () => clock.now(),
    log,
    mailboxCap,
    emit,
    mayAct: options.mayAct ?? (() => true),
    epochOf: options.epochOf ?? (() => 0),
    lost: options.lost ?? (() => {}),
    forward: options.forward ?? ((_message, ask) => ask?.reject(moved())),
  };

  const all = function* () {
    for (const ofKind of activations.values()) yield* ofKind.values();
  };

  async function quiet(which: (key: string) => boolean, ms: number): Promise<void> {
    let late = false;
    const atWork = () => [...all()].flatMap((actor) => (which(actor.key) ? (actor.work ?? []) : []));
    // What ends may have told others, so look again until all is quiet.
    const rest = async () => {
      for (let work = atWork(); work.length > 0 && !late; work = atWork()) await Promise.all(work);
    };
    await upTo(clock, ms, rest());
    late = true;
  }

  const passivation = clock.every(idleMs / 4, () => {
    const before = clock.now() - idleMs;
    for (const ofKind of activations.values()) {
      for (const [key, actor] of ofKind) if (actor.idleSince(before)) ofKind.delete(key);
    }
  });

  const receive = (message: Tell): Promise<unknown> =>
    (kinds.get(message.kind)?.isPatient(message.type) ? patientAsks : asks).wait((ask) => {
      if (stopping) throw shuttingDown();
      const { type, body } = message;
      if (!activation(message).enqueue({ type, body, ask })) ask.reject(refusalOf('mailboxes'));
    });

  const handle = (message: Tell, abandoned: () => boolean): Promise<unknown> =>
    new Promise((resolve, reject) => {
      if (stopping) throw shuttingDown();
      const ask = {
        kept: true,
        get abandoned() {
          return abandoned();
        },
        resolve,
        reject,
      };
      if (!activation(message).enqueue({ type: message.type, body: message.body, ask }))
        reject(refusalOf('mailboxes'));
    });

  const send = async (tell: Tell): Promise<void> => {
    if (stopping) throw shuttingDown();
    if (!enqueue(tell)) throw refusalOf('mailboxes');
  };

  return {
    ...actorsOver<K>(receive, send),
    send,
    receive,
    handle,

    get size() {
      let size = 0;
      for (const ofKind of activations.values()) size += ofKind.size;
      return size;
    },

    quiet,

    release(keep) {
      const reason = moved();
      for (const [kind, ofKind] of activations) {
        for (const [key, actor] of ofKind) {
          if (keep(kind, key)) continue;
          ofKind.delete(key);
          actor.stop(reason);
        }
      }
    },

    async stop(graceMs = 5000) {
      stopping = true;
      passivation.cancel();
      const until = clock.monotonic() + graceMs;
      await quiet(() => true, graceMs);
      await upTo(clock, until - clock.monotonic(), Promise.all(noting));
      stopped = true;
      for (const actor of all()) actor.stop(shuttingDown());
      for (const ofKind of activations.values()) ofKind.clear();
    },
  };
}
