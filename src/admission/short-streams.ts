// Clients that open a stream, lose it at once and open it again without a wait, as some released ones do after a clean
// end. Counts only streams that ended soon after they began: any number of replicas may share an id and stay.
import { BoundedMap } from '../shared/concurrency/bounded-map.ts';
import { toHubError } from './admission.ts';
import { admissionTable } from './table.ts';

const {
  bounds: [{ atOnce: max }],
  ms: windowMs,
} = admissionTable.shortStreams;
/** Callers that are remembered. */
const maxCallers = 20_000;

export class ShortStreams {
  /** When those streams were opened, oldest first; at most one more than may be. */
  readonly #ended = new BoundedMap<readonly number[]>(maxCallers);

  /**
   * @param caller a name for API key, agent id and client address together
   * @param now monotonic milliseconds, as `openedAt`
   */
  ended(caller: string, openedAt: number, now: number): void {
    if (now - openedAt >= windowMs) return;
    const opened = [...this.#recent(caller, now), openedAt].sort((a, b) => a - b).slice(-(max + 1));
    this.#ended.set(caller, opened, now + windowMs);
  }

  /** @throws HubError rate_limited, with the time to wait, when too many have begun and ended */
  check(caller: string, now: number): void {
    // Nearly always nothing is known of a caller.
    if (!this.#ended.get(caller, now)) return;
    const recent = this.#recent(caller, now);
    if (recent.length <= max) return;
    const oldest = recent[0] ?? now;
    throw toHubError({
      ...admissionTable.shortStreams.refusal,
      retryAfter: Math.max(1, Math.ceil((oldest + windowMs - now) / 1000)),
    });
  }

  #recent(caller: string, now: number): readonly number[] {
    return (this.#ended.get(caller, now) ?? []).filter((openedAt) => now - openedAt < windowMs);
  }
}
