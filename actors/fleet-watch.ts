// Times at which an environment counts its connected agents: after a change, at most once a second. Dashboards receive
// only numbers that differ.
import type { FleetNumbers } from '../src/agent/record.ts';
import type { Env } from '../src/shared/ids.ts';
import type { ActorPorts } from './ports.ts';
import type { Roster } from './roster.ts';
import type { CurrentVersions } from './roster-agent.ts';
import type { ActorContext, Effects } from './runtime/define.ts';

export const fleetTimer = 'fleet';

const everyMs = 1_000;
/**
 * Counting takes less than 1 µs an agent. Of a large fleet it is done less often, so that it stays under a hundredth of
 * the time.
 */
const agentsPerMs = 10;

interface Watched {
  readonly tenantId: string;
  readonly env: Env;
  readonly current: CurrentVersions;
  readonly roster: Roster;
}

export class FleetWatch {
  /** Epoch milliseconds. */
  #countedAt: number;
  #waiting = false;
  #lastNumbers: FleetNumbers | null = null;

  /**
   * @param startedAt when the activation began: agents that were connected before are announced to it in the second
   *   after
   */
  constructor(startedAt: number) {
    this.#countedAt = startedAt;
  }

  /** An agent came, left or runs something else, or something else is deployed. */
  changed({ roster }: Pick<Watched, 'roster'>, context: ActorContext<ActorPorts>): void {
    if (this.#waiting) return;
    this.#waiting = true;
    const pause = Math.max(everyMs, roster.size / agentsPerMs);
    context.setTimer(fleetTimer, Math.max(context.now(), this.#countedAt + pause));
  }

  /** At `fleetTimer`. */
  count({ tenantId, env, current, roster }: Watched, context: ActorContext<ActorPorts>): Effects {
    this.#waiting = false;
    this.#countedAt = context.now();
    const numbers = roster.numbers(current, context.ports.isGone);
    const lastNumbers = this.#lastNumbers;
    if (lastNumbers !== null && same(lastNumbers, numbers)) return {};
    this.#lastNumbers = numbers;
    return { announcements: [{ kind: 'fleetChanged', tenantId, env, numbers }] };
  }
}

const same = (one: FleetNumbers, other: FleetNumbers): boolean =>
  one.connected === other.connected && one.current === other.current && one.drift === other.drift;
