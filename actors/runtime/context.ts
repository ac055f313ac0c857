// Context of one incarnation of an actor: its key, its ports, the time and its timers. Handles nothing.
import type { Clock, Timer } from '../../src/shared/ports/clock.ts';
import type { ActorContext } from './define.ts';

export interface Alarm {
  readonly name: string;
  readonly at: number;
  handle: Timer;
}

export interface TimerSink {
  /** Takes an alarm whose time has come. */
  due(alarm: Alarm): void;
}

/** Parts that all actors of a process share. */
export interface ActorEnvironment<Ports> {
  readonly ports: Ports;
  readonly clock: Clock;
  /** The clock's, as a function of its own. */
  readonly now: () => number;
  /** Of this node's ownership of a key. */
  epochOf(key: string): number;
}

/** Once closed it takes no new timers, so a handler that outlives its incarnation leaves none behind. */
export class Context<Ports> implements ActorContext<Ports> {
  readonly key: string;
  readonly ports: Ports;
  readonly epoch: number;
  /** Shared by all, so that handlers may take it out of the context. */
  readonly now: () => number;
  readonly #clock: Clock;
  readonly #owner: TimerSink;
  /** Made with the first timer: most actors have none. */
  #alarms: Map<string, Alarm> | null = null;
  #closed = false;

  constructor(key: string, { ports, clock, now, epochOf }: ActorEnvironment<Ports>, owner: TimerSink) {
    this.key = key;
    this.ports = ports;
    this.epoch = epochOf(key);
    this.now = now;
    this.#clock = clock;
    this.#owner = owner;
  }

  /** Timers that are set. */
  get alarms(): number {
    return this.#alarms?.size ?? 0;
  }

  setTimer(name: string, at: number): void {
    if (this.#closed) return;
    this.clearTimer(name);
    const clock = this.#clock;
    const fire = (): void => {
      const early = at - clock.now();
      // A system timer may fire a moment before its time.
      if (early > 0) alarm.handle = clock.after(early, fire);
      else this.#owner.due(alarm);
    };
    const alarm: Alarm = { name, at, handle: clock.after(Math.max(0, at - clock.now()), fire) };
    this.#alarms ??= new Map();
    this.#alarms.set(name, alarm);
  }

  clearTimer(name: string): void {
    this.#alarms?.get(name)?.handle.cancel();
    this.#alarms?.delete(name);
  }

  /** Takes an alarm out; false when it was cleared, moved or closed since its time came. */
  rings(alarm: Alarm): boolean {
    if (this.#alarms?.get(alarm.name) !== alarm) return false;
    return this.#alarms.delete(alarm.name);
  }

  close(): void {
    this.#closed = true;
    for (const alarm of this.#alarms?.values() ?? []) alarm.handle.cancel();
    this.#alarms = null;
  }
}
