// A small actor for tests of the runtime, its store, and a system around it. Every wait is on a signal that the test
// gives.
import type { ActorContext, Effects, Tell } from '../../../actors/runtime/define.ts';
import { actorKind } from '../../../actors/runtime/kind.ts';
import { type ActorSystem, type ActorsOptions, createActors } from '../../../actors/runtime/system.ts';
import { outageOf } from '../../../src/admission/outages.ts';
import type { Announcement } from '../../../src/shared/announcement.ts';
import { HubError } from '../../../src/shared/error.ts';
import type { Control } from '../../../src/shared/frame.ts';
import type { Job } from '../../../src/shared/ports/jobs.ts';
import { ManualClock } from '../../clock.ts';
import { memoryLog } from '../../log.ts';

export type CounterMessages = {
  /** Adds to the stored count and answers it; `hold` waits for that latch first. */
  add: { body: { readonly n: number; readonly hold?: string }; reply: number };
  read: { body: null; reply: number };
  fail: { body: { readonly how: 'conflict' | 'bug' | 'full'; readonly effects?: Effects }; reply: null };
  emit: { body: Effects; reply: null };
  timer: {
    body: { readonly name: string; readonly at: number | null; readonly hold?: string };
    reply: null;
  };
  hold: { body: { readonly busy: boolean }; reply: null };
  /** As `add`, by many at once: its askers are patient. */
  arrive: { body: { readonly n: number; readonly hold?: string }; reply: number };
};

export type CounterKinds = { counter: CounterMessages };

interface State {
  count: number;
  busy: boolean;
}

/** State that the actors of a test share. */
export interface CounterPorts {
  readonly stored: Map<string, number>;
  /** Every step of every actor, in order. */
  readonly steps: string[];
  /** Promises that handlers wait for, by the gate that they name; `activate` holds every activation. */
  readonly gates: Map<string, Promise<void>>;
  /** Thrown by the next activations. */
  broken: Error | null;
  activations: number;
}

async function add(
  state: State,
  { n, hold }: CounterMessages['add']['body'],
  { key, ports }: ActorContext<CounterPorts>,
) {
  ports.steps.push(`${key}+${n} begins`);
  if (hold) await ports.gates.get(hold);
  state.count += n;
  ports.stored.set(key, state.count);
  ports.steps.push(`${key}+${n} ends`);
  return { reply: state.count };
}

const counter = actorKind<CounterMessages, State, CounterPorts>({
  kind: 'counter',
  async activate({ key, ports }) {
    ports.activations++;
    if (ports.broken) throw ports.broken;
    await ports.gates.get('activate');
    return { count: ports.stored.get(key) ?? 0, busy: false };
  },
  handlers: {
    add,
    arrive: add,
    async read(state) {
      return { reply: state.count };
    },
    async fail(state, { how }) {
      state.count = -1;
      if (how === 'full') throw outageOf('mongoFull');
      throw how === 'bug' ? new TypeError('a bug') : new HubError('conflict', 'no');
    },
    async emit(_state, effects) {
      return { reply: null, ...effects };
    },
    async timer(_state, { name, at, hold }, context) {
      if (hold) await context.ports.gates.get(hold);
      if (at === null) context.clearTimer(name);
      else context.setTimer(name, at);
      return { reply: null };
    },
    async hold(state, { busy }) {
      state.busy = busy;
      return { reply: null };
    },
  },
  async onTimer(_state, name, { key, ports, now }) {
    ports.steps.push(`${key} rang ${name}@${now()}`);
    return {};
  },
  idle: (state) => !state.busy,
  patient: ['arrive'],
});

export const counterKinds = { counter };

export function aSystem(options: Partial<ActorsOptions<CounterKinds, CounterPorts>> = {}) {
  const clock = new ManualClock(0);
  const log = memoryLog();
  const ports: CounterPorts = {
    stored: new Map(),
    steps: [],
    gates: new Map(),
    broken: null,
    activations: 0,
  };
  const left: (Announcement | Control | Job)[] = [];
  const actors: ActorSystem<CounterKinds> = createActors({
    definitions: { counter },
    ports,
    clock,
    log,
    announcer: { announce: async (list) => void left.push(...list) },
    broadcast: { control: async (message) => void left.push(message) },
    jobs: { add: async (job) => void left.push(job) },
    ...options,
  });
  const latch = (name: string) => {
    let open = () => {};
    ports.gates.set(name, new Promise<void>((resolve) => (open = resolve)));
    return () => open();
  };
  return { actors, clock, log, ports, left, latch };
}

export const anAnnouncement = (n: number): Announcement => ({
  kind: 'eventsAccepted',
  tenantId: 't1',
  env: 'production',
  accepted: n,
});

export const aTell = (key: string, n: number): Tell => ({ kind: 'counter', key, type: 'add', body: { n } });
