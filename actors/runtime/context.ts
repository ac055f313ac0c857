// Context of one incarnation of an actor: its key, its ports, the time and its timers. Handles nothing.
import type { Clock, Timer } from '../../src/shared/ports/clock.ts';
import type { ActorContext } from './define.ts';
import type { ActorState } from './kind.ts';

export interface Alarm {
  readonly name: string;
  readonly at: number;
  handle: Timer;
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

/** The activation that a context belongs to. */
export interface ContextOwner<Ports> {
  readonly key: string;
  readonly environment: ActorEnvironment<Ports>;
  /** Takes an alarm whose time has come. */
  due(alarm: Alarm): void;
}

/** Timers that are set. Null: none yet, as in most actors. */
type Alarms = Map<string, Alarm> | 'closed' | null;

const openAlarms = (alarms: Alarms): Map<string, Alarm> | null => (alarms === 'closed' ? null : alarms);

/**
 * One incarnation: its state, and what handlers receive beside it. Once closed it takes no new timers, so a handler
 * that outlives its incarnation leaves none behind. Small, because every connected agent has one.
 */
export class Context<Ports> implements ActorContext<Ports> {
  readonly epoch: number;
  /** Null until it is awake. */
  state: ActorState | null = null;
  readonly #owner: ContextOwner<Ports>;
  #alarms: Alarms = null;

  constructor(owner: ContextOwner<Ports>) {
    this.epoch = owner.environment.epochOf(owner.key);
    this.#owner = owner;
  }

  get key(): string {
    return this.#owner.key;
  }

  get ports(): Ports {
    return this.#owner.environment.ports;
  }

  /** Shared by all, so that handlers may take it out of the context. */
  get now(): () => number {
    return this.#owner.environment.now;
  }

  /** Timers that are set. */
  get alarms(): number {
    return openAlarms(this.#alarms)?.size ?? 0;
  }

  setTimer(name: string, at: number): void {
    if (this.#alarms === 'closed') return;
    this.clearTimer(name);
    const { clock } = this.#owner.environment;
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
    const alarms = openAlarms(this.#alarms);
    alarms?.get(name)?.handle.cancel();
    alarms?.delete(name);
  }

  /** Takes an alarm out; false when it was cleared, moved or closed since its time came. */
  rings(alarm: Alarm): boolean {
    const alarms = openAlarms(this.#alarms);
    return alarms?.get(alarm.name) === alarm && alarms.delete(alarm.name);
  }

  close(): void {
    for (const alarm of openAlarms(this.#alarms)?.values() ?? []) alarm.handle.cancel();
    this.#alarms = 'closed';
  }
}
