// One key's actor while it is awake: its mailbox, its state, its timers. Knows no other actor. Keeps promise P1.
import { outageOf } from '../../src/admission/outages.ts';
import type { Awaitable } from '../../src/shared/concurrency/awaitable.ts';
import { HubError } from '../../src/shared/error.ts';
import type { Log } from '../../src/shared/ports/log.ts';
import { currentTrace, resumed, untraced } from '../../src/shared/tracing.ts';
import { type ActorEnvironment, type Alarm, Context, type ContextOwner } from './context.ts';
import type { Effects, Messages, Outcome, Tell } from './define.ts';
import type { ActorKind, ActorState } from './kind.ts';
import { Mailbox } from './mailbox.ts';

/** A waiting asker. */
export interface Ask {
  /** True once the asker has received `unavailable`: then the envelope is not worth handling any more. */
  readonly abandoned: boolean;
  /** True for a message that is kept elsewhere until it is settled: refused here, it is handled there. */
  readonly kept?: boolean;
  resolve(reply: unknown): void;
  reject(error: HubError): void;
}

interface Envelope {
  readonly type: string;
  readonly body: unknown;
  /** Null for a tell. */
  readonly ask: Ask | null;
  /** The span that it was sent in, as a `traceparent`; absent: none. */
  readonly trace?: string;
}

/** Services that an activation needs from the actor system. */
export interface ActorRuntime<Ports> extends ActorEnvironment<Ports> {
  readonly log: Log;
  /** Epoch milliseconds. */
  readonly startedAt: number;
  readonly mailboxCap: number;
  /**
   * Resolves when the effects have left; a tell counts as left when it was handed over. While the bus is away, they are
   * tried again as long as this process has the key.
   */
  emit(key: string, effects: Effects): Promise<void>;
  /** False when the key is another node's by now. */
  mayAct(key: string): boolean;
  /** The key was lost while a handler ran: the new owner does not know the handler's writes. */
  lost(kind: string, key: string): void;
  /**
   * A message waits here although its key is another node's by now; its handler did not begin. In the order in which
   * they came.
   */
  forward(message: Tell, ask: Ask | null): void;
}

/** Services and rules that the activations of a kind share. */
export interface KindRuntime<Ports> extends ActorRuntime<Ports> {
  readonly kind: ActorKind<Messages, Ports>;
}

/** A context that is awake. */
type Incarnation<Ports> = Context<Ports> & { state: ActorState };

const toHubError = (error: unknown): HubError =>
  error instanceof HubError ? error : new HubError('internal', 'Internal error.');

/**
 * Messages that every actor takes. One wakes it. The other has it built again from the store, because something was
 * written past this activation.
 */
export const wakeMessage = '@wake';
export const rebuildMessage = '@rebuild';

/** A refusal before the handler began: a second sending of the message repeats nothing. */
class Unhandled extends HubError {}

export const moved = (): Unhandled => {
  const { code, message, detail } = outageOf('stateMoved');
  return new Unhandled(code, message, detail);
};

const takenOver = () => outageOf('stateTakenOver');

/** After these the state may differ from the store, so it is built again. */
const leavesDoubt = ({ code, detail }: HubError): boolean =>
  code === 'internal' || code === 'unavailable' || detail.mayBeStored === true;

const doneBare: Outcome<null> = { reply: null };

/** True if any effect is to leave: a handler that only replies, as most do, waits for nothing more. */
function leaves({ announcements, control, tells, jobs }: Effects): boolean {
  return Boolean(announcements?.length || control?.length || tells?.length || jobs?.length);
}

export class Activation<Ports> implements ContextOwner<Ports> {
  readonly key: string;
  readonly #runtime: KindRuntime<Ports>;
  /** Null while nothing waits: most actors sleep. */
  #mailbox: Mailbox<Envelope | Alarm> | null = null;
  #incarnation: Incarnation<Ports> | null = null;
  #run: Promise<void> | null = null;
  #stopped: HubError | null = null;
  /** Milliseconds after the runtime's start: a small number, where epoch milliseconds would be an object each. */
  #usedAfter: number;

  constructor(key: string, runtime: KindRuntime<Ports>) {
    this.key = key;
    this.#runtime = runtime;
    this.#usedAfter = this.#elapsedMs;
  }

  get environment(): ActorEnvironment<Ports> {
    return this.#runtime;
  }

  /** Rounded, because only whole numbers are small. */
  get #elapsedMs(): number {
    return Math.floor(this.#runtime.clock.now() - this.#runtime.startedAt);
  }

  /** False when the mailbox is full. The envelope is handled later, never inside this call. */
  enqueue(envelope: Envelope): boolean {
    if (this.#stopped) {
      this.#refuse(envelope, this.#stopped);
      return true;
    }
    this.#mailbox ??= new Mailbox(this.#runtime.mailboxCap);
    const trace = currentTrace();
    if (!this.#mailbox.push(trace === null ? envelope : { ...envelope, trace })) return false;
    this.#start();
    return true;
  }

  /** The work under way; null when there is none. Never rejects. */
  get work(): Promise<void> | null {
    return this.#run;
  }

  /** True when nothing is lost by forgetting this activation, and nothing has come since `before`. */
  idleSince(before: number): boolean {
    const { kind, startedAt, clock } = this.#runtime;
    if (this.#run || this.#mailbox || startedAt + this.#usedAfter > before) return false;
    const incarnation = this.#incarnation;
    return !incarnation || (incarnation.alarms === 0 && kind.idle(incarnation.state, clock.now()));
  }

  /** Clears timers and refuses what waits or comes with `reason`. A handler at work ends undisturbed. */
  stop(reason: HubError): void {
    this.#stopped = reason;
    this.#forget();
    this.#refuseWaiting(reason);
  }

  /** An alarm's time has come: it waits its turn among the envelopes. */
  due(alarm: Alarm): void {
    this.#mailbox ??= new Mailbox(this.#runtime.mailboxCap);
    this.#mailbox.pushAnyway(alarm);
    this.#start();
  }

  #start(): void {
    this.#run ??= untraced(() => this.#drain());
  }

  async #drain(): Promise<void> {
    // Later than the call that put the first item in.
    await null;
    for (let item = this.#mailbox?.shift(); item; item = this.#mailbox?.shift()) {
      this.#usedAfter = this.#elapsedMs;
      const handling = 'name' in item ? this.#ring(item) : this.#handleTraced(item);
      if (handling) await handling;
    }
    this.#mailbox = null;
    this.#run = null;
  }

  #handleTraced(envelope: Envelope): Promise<void> | undefined {
    const { trace, type } = envelope;
    if (trace === undefined) return this.#handle(envelope);
    return resumed(`actor ${this.#runtime.kind.kind} ${type}`, trace, () => this.#handle(envelope));
  }

  #handle(envelope: Envelope): Promise<void> | undefined {
    if (envelope.ask?.abandoned) {
      envelope.ask.reject(new HubError('unavailable', 'The caller no longer waits for the answer.'));
      return undefined;
    }
    if (!this.#runtime.mayAct(this.key)) {
      this.#refuse(envelope, moved());
      return undefined;
    }
    if (envelope.type === rebuildMessage) this.#forget();
    try {
      const woken = this.#incarnation ?? this.#wake();
      return woken instanceof Promise ? this.#receiveAwake(envelope, woken) : this.#receive(envelope, woken);
    } catch (error) {
      this.#asleep(envelope, error);
      return undefined;
    }
  }

  async #receiveAwake(envelope: Envelope, waking: Promise<Incarnation<Ports>>): Promise<void> {
    let woken: Incarnation<Ports>;
    try {
      woken = await waking;
    } catch (error) {
      this.#asleep(envelope, error);
      return;
    }
    await this.#receive(envelope, woken);
  }

  /** The actor could not be woken: waiting messages are refused, the next message tries again. */
  #asleep(envelope: Envelope, error: unknown): void {
    this.#report(error, envelope.type, 'cannot activate an actor');
    const reason = outageOf('stateNotLoaded');
    this.#refuse(envelope, reason);
    this.#refuseWaiting(reason);
  }

  /** Has the actor handle it: at once where its handler waits for nothing and nothing is to leave. Never throws. */
  #receive(envelope: Envelope, incarnation: Incarnation<Ports>): Promise<void> | undefined {
    if (this.#stopped) {
      // Stopped while it woke: another activation may have the key by now.
      this.#refuse(envelope, this.#stopped);
      return undefined;
    }
    try {
      const bare = envelope.type === wakeMessage || envelope.type === rebuildMessage;
      const outcome = bare ? doneBare : this.#handler(incarnation, envelope);
      if (outcome instanceof Promise || leaves(outcome)) return this.#finish(envelope, outcome);
      this.#stillOurs();
      envelope.ask?.resolve(outcome.reply);
    } catch (error) {
      this.#failed(envelope, error);
    }
    return undefined;
  }

  #handler(incarnation: Incarnation<Ports>, { type, body }: Envelope): Awaitable<Outcome<unknown>> {
    return this.#runtime.kind.receive(incarnation.state, incarnation, type, body);
  }

  async #finish(envelope: Envelope, handling: Awaitable<Outcome<unknown>>): Promise<void> {
    try {
      const outcome = await handling;
      this.#stillOurs();
      if (leaves(outcome)) await this.#emit(outcome);
      envelope.ask?.resolve(outcome.reply);
    } catch (error) {
      this.#failed(envelope, error);
    }
  }

  #failed({ type, ask }: Envelope, error: unknown): void {
    const hubError = toHubError(error);
    if (!(error instanceof HubError) || hubError.code === 'internal' || !ask) {
      this.#report(error, type, 'an actor failed to handle a message');
    }
    if (leavesDoubt(hubError)) this.#forget();
    ask?.reject(hubError);
  }

  async #ring(alarm: Alarm): Promise<void> {
    const incarnation = this.#incarnation;
    // Cleared, moved or forgotten while it waited in the mailbox.
    if (!incarnation?.rings(alarm) || !this.#runtime.mayAct(this.key)) return;
    try {
      const effects = await this.#runtime.kind.ring(incarnation.state, incarnation, alarm.name);
      this.#stillOurs();
      if (leaves(effects)) await this.#emit(effects);
    } catch (error) {
      this.#report(error, alarm.name, 'the timer of an actor failed');
      if (leavesDoubt(toHubError(error))) this.#forget();
    }
  }

  /** At once where nothing is to be read: each agent of a fleet that comes back wakes an actor. */
  #wake(): Promise<Incarnation<Ports>> | Incarnation<Ports> {
    const { kind } = this.#runtime;
    const context = new Context(this);
    try {
      const state = kind.wake(context);
      if (state instanceof Promise) return this.#wakeLater(context, state);
      const effects = kind.onActivate(state, context);
      return leaves(effects) ? this.#wakeLater(context, state, effects) : this.#awake(context, state);
    } catch (error) {
      context.close();
      throw error;
    }
  }

  async #wakeLater(
    context: Context<Ports>,
    waking: Promise<ActorState> | ActorState,
    earlierEffects?: Effects,
  ): Promise<Incarnation<Ports>> {
    try {
      const state = await waking;
      const effects = earlierEffects ?? this.#runtime.kind.onActivate(state, context);
      if (leaves(effects)) await this.#emit(effects);
      return this.#awake(context, state);
    } catch (error) {
      context.close();
      throw error;
    }
  }

  #awake(context: Context<Ports>, state: ActorState): Incarnation<Ports> {
    context.state = state;
    const incarnation = context as Incarnation<Ports>;
    this.#incarnation = incarnation;
    if (this.#stopped) this.#forget();
    return incarnation;
  }

  /** Effects of a stale owner could undo what the new one announced: they stay. @throws HubError unavailable */
  #stillOurs(): void {
    // Its node may own the key again: then another activation has it, which does not know what this one wrote.
    const released = this.#stopped instanceof Unhandled;
    if (!released && this.#runtime.mayAct(this.key)) return;
    this.#runtime.lost(this.#runtime.kind.kind, this.key);
    throw takenOver();
  }

  /** Effects that cannot leave count as a failure: the asker repeats, the state is built again. */
  async #emit(effects: Effects): Promise<void> {
    try {
      await this.#runtime.emit(this.key, effects);
    } catch (error) {
      this.#report(error, 'effects', 'cannot send the effects of an actor');
      throw outageOf('effectsNotSent');
    }
  }

  #forget(): void {
    this.#incarnation?.close();
    this.#incarnation = null;
  }

  #refuseWaiting(reason: HubError): void {
    for (let item = this.#mailbox?.shift(); item; item = this.#mailbox?.shift()) {
      if (!('name' in item)) this.#refuse(item, reason);
    }
  }

  #refuse(envelope: Envelope, reason: HubError): void {
    const { type, body, ask } = envelope;
    if (reason instanceof Unhandled && !ask?.kept) {
      this.#runtime.forward({ kind: this.#runtime.kind.kind, key: this.key, type, body }, ask);
    } else if (ask) ask.reject(reason);
    else this.#report(reason, envelope.type, 'lost a message to an actor');
  }

  #report(err: unknown, type: string, message: string): void {
    this.#runtime.log.error({ err, kind: this.#runtime.kind.kind, actor: this.key, type }, message);
  }
}
