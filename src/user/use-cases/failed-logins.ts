// Failed sign-ins of people: counted in memory for a minute, then one audit entry for each account. Somebody who
// guesses passwords must not fill the chain. An orderly stop records what was counted so far.

import { noteOf } from '../../audit/note.ts';
import { minuteMs } from '../../shared/duration.ts';
import type { Timer } from '../../shared/ports/clock.ts';
import type { AppPorts } from '../../shared/use-case-ports.ts';
import type { User } from '../record.ts';

/** Accounts whose failures are counted at once. With more, the oldest entry is written early. */
const maxAccounts = 10_000;

interface Count {
  readonly user: User;
  readonly timer: Timer;
  count: number;
}

type Ports = Parameters<typeof noteOf>[0] & Pick<AppPorts, 'store' | 'clock' | 'log'>;

export class FailedLogins {
  readonly #ports: Ports;
  /** By the user's id, oldest first. */
  readonly #counts = new Map<string, Count>();

  constructor(ports: Ports) {
    this.#ports = ports;
  }

  add(user: User): void {
    const { id } = user;
    const counting = this.#counts.get(id);
    if (counting) {
      counting.count++;
      return;
    }
    const [oldest] = this.#counts.keys();
    if (oldest !== undefined && this.#counts.size >= maxAccounts) void this.#record(oldest);
    const timer = this.#ports.clock.after(minuteMs, () => void this.#record(id));
    this.#counts.set(id, { user, timer, count: 1 });
  }

  /** Writes the entries of all that were counted. */
  async flush(): Promise<void> {
    await Promise.all([...this.#counts.keys()].map((id) => this.#record(id)));
  }

  async #record(userId: string): Promise<void> {
    const counted = this.#counts.get(userId);
    if (!counted) return;
    this.#counts.delete(userId);
    const { user, timer, count } = counted;
    timer.cancel();
    const { id, tenantId, email } = user;
    const note = noteOf(
      this.#ports,
      tenantId,
      { type: 'system', id: 'login', display: 'system:login' },
      {
        action: 'login.failed',
        subject: { id, name: email },
        summary: `${email} failed to sign in ${count} times within a minute: wrong password.`,
        details: { count },
      },
    );
    try {
      await this.#ports.store.audit.append([note]);
    } catch (err) {
      this.#ports.log.warn({ err, tenantId }, 'cannot record failed logins');
    }
  }
}
